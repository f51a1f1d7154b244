"""How a run is judged."""
