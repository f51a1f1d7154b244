"""The laboratory: potentials, relaxations, element data, and the tools that offer them to an agent."""
