"""The suite as a product: the `hepbench` command and the building of reference sets."""
