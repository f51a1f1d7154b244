"""CHGNet as an ASE calculator that computes what a relaxation needs, and no more.

CHGNet's own calculator makes two backward passes that can themselves be differentiated (training needs
that), and adds magnetic moments and crystal features. One plain backward pass for forces and stress
together gives the same numbers in about 40 % of the time; an energy alone needs no backward pass.

Imported only where CHGNet is loaded: it imports torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.stress import full_3x3_to_voigt_6_stress
from chgnet.model.model import BatchedGraph, CHGNet

from hepbench.harness.laboratory.structures import to_pymatgen


class FastCHGNet(Calculator):  # type: ignore[misc] # ASE is not typed
    """Energy (eV), forces (eV/Å) and stress (eV/Å³, Voigt) by CHGNet."""

    implemented_properties: ClassVar[list[str]] = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval()
        self.model.graph_converter.set_isolated_atom_response("ignore")
        for parameter in self.model.parameters():
            parameter.requires_grad_(requires_grad=False)

    @classmethod
    def from_weights(cls, path: Path, device: str = "cpu") -> FastCHGNet:
        """Load a checkpoint of the CHGNet package.

        Args:
            path: The checkpoint.
            device: "cpu" or "cuda".
        """
        # As `CHGNet.load` does for every version but 0.2.0.
        return cls(CHGNet.from_file(str(path), mlp_out_bias=False).to(device))

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: Sequence[str] = ("energy",),
        system_changes: Sequence[str] = tuple(all_changes),
    ) -> None:
        """Fill `self.results`; forces and stress come together or not at all."""
        super().calculate(atoms, list(properties), list(system_changes))
        if {"forces", "stress"} & set(properties):
            self._with_gradients()
        else:
            with torch.no_grad():
                energy, _ = self._energy()
            self._set_energy(energy)

    def _energy(self) -> tuple[Any, Any]:
        """Total energy (eV) as a tensor and the batched graph that holds positions and strain."""
        device = next(self.model.parameters()).device
        graph = self.model.graph_converter(to_pymatgen(self.atoms)).to(device)
        batch = BatchedGraph.from_graphs(
            [graph],
            bond_basis_expansion=self.model.bond_basis_expansion,
            angle_basis_expansion=self.model.angle_basis_expansion,
            compute_stress=True,
        )
        # The public `forward` hides the strain tensor that the stress is the derivative by.
        per_atom = self.model._compute(batch)["e"] + self.model.composition_model([graph])  # noqa: SLF001
        return per_atom.sum() * len(self.atoms), batch

    def _with_gradients(self) -> None:
        energy, batch = self._energy()
        gradient, virial = torch.autograd.grad(energy, [batch.atom_positions[0], batch.strains[0]])
        self._set_energy(energy)
        self.results["forces"] = -gradient.cpu().numpy().astype(float)
        stress = virial.cpu().numpy().astype(float) / self.atoms.get_volume()
        self.results["stress"] = full_3x3_to_voigt_6_stress(stress)

    def _set_energy(self, energy: Any) -> None:
        self.results["energy"] = self.results["free_energy"] = float(energy.detach())
