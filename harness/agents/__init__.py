"""The agents that run a task, and their prompts."""
