"""Scripted policies behind an Inspect model provider: `hepbench/scientist` and `hepbench/hasty`. Not LLMs."""
