"""What is asked: compound families, their prototypes, splits and reference sets."""
