"""The Hypothesis Evolution Protocol: an append-only, event-sourced registry of hypotheses."""
