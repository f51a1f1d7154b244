"""How an agent works: protocol, laboratory, agents, and the offline scripted policies."""
