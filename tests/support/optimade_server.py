"""The reference server of `optimade`, with our structures: `python optimade_server.py PORT TABLE`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def document(number: int, known: Any) -> dict[str, Any]:
    """An OPTIMADE structure in the server's own store."""
    atoms = known.atoms()
    symbols = atoms.get_chemical_symbols()
    elements = sorted(set(symbols))
    counts = [symbols.count(e) for e in elements]
    unit = min(counts)
    formula = "".join(f"{e}{n // unit if n > unit else ''}" for e, n in zip(elements, counts, strict=True))
    return {
        "id": f"known-{number}",
        "last_modified": datetime(2026, 1, 1, tzinfo=UTC),
        "elements": elements,
        "nelements": len(elements),
        "elements_ratios": [n / len(symbols) for n in counts],
        "chemical_formula_reduced": formula,
        "chemical_formula_descriptive": formula,
        "chemical_formula_anonymous": "A2B",
        "dimension_types": [1, 1, 1],
        "nperiodic_dimensions": 3,
        "lattice_vectors": atoms.cell[:].tolist(),
        "cartesian_site_positions": atoms.positions.tolist(),
        "nsites": len(symbols),
        "species": [{"name": e, "chemical_symbols": [e], "concentration": [1.0]} for e in elements],
        "species_at_sites": symbols,
        "structure_features": [],
    }


def main() -> None:
    import uvicorn
    from optimade.server.config import ServerConfig
    from optimade.server.create_app import create_app

    from hepbench.harness.laboratory.known import load_known

    app = create_app(ServerConfig(database_backend="mongomock", insert_test_data=False))
    known = load_known(Path(sys.argv[2]))
    app.state.entry_collections["structures"].insert([document(i, k) for i, k in enumerate(known)])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
