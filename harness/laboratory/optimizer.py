"""A quasi-Newton optimizer for cell and positions together, with a first guess that knows the cell.

ASE's BFGS starts from one curvature for all coordinates. A cell's is another: the strain of a cell of
volume V has the curvature C·V, with C the elastic tensor. ASE's `CellAwareBFGS` has that guess, but its steps
in the strain are as large, as numbers, as those of atoms in Å (0.15 is a strain of 15 %), which threw anatase
into another minimum. Here strain is counted in units of `CELL_LENGTH`, so that one limit suits both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS
from ase.optimize.cellawarebfgs import calculate_isotropic_elasticity_tensor

if TYPE_CHECKING:
    from ase import Atoms

CELL_LENGTH = 5.0  # Å per unit of strain: a step limit of 0.15 Å is a strain of 3 %
_BULK_MODULUS = 0.9  # eV/Å³ (about 145 GPa), as in ASE's CellAwareBFGS
_POISSON = 0.3
_CURVATURE = 70.0  # eV/Å², ASE's own guess for an atom's move


def cell_filter(atoms: Atoms, pressure: float, cell_length: float | None) -> FrechetCellFilter:
    """Atoms and cell as one set of coordinates.

    Args:
        atoms: With calculator and constraint.
        pressure: External, eV/Å³.
        cell_length: Å per unit of strain; None for ASE's default, the number of atoms.
    """
    return FrechetCellFilter(atoms, exp_cell_factor=cell_length, scalar_pressure=pressure)


class CellBFGS(BFGS):  # type: ignore[misc] # ASE is not typed
    """BFGS whose first Hessian holds an isotropic elastic tensor for the cell."""

    def __init__(self, filtered: FrechetCellFilter, maxstep: float) -> None:
        self._filtered = filtered
        super().__init__(filtered, logfile=None, maxstep=maxstep, alpha=_CURVATURE)

    def initialize(self) -> None:
        """Set the first Hessian."""
        super().initialize()
        self.H0[-9:, -9:] = _cell_hessian(self._filtered)


def _cell_hessian(filtered: FrechetCellFilter) -> Any:
    """Second derivatives by the nine components of the strain times the cell length, eV/Å²."""
    length = filtered.exp_cell_factor
    rotation = _CURVATURE * length**2 / filtered.atoms.get_volume()  # rotations cost nothing: keep them still
    elastic = calculate_isotropic_elasticity_tensor(_BULK_MODULUS, _POISSON, suppress_rotation=rotation)
    return np.asarray(elastic).reshape(9, 9) * filtered.atoms.get_volume() / length**2
