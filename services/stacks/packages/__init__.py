"""Packages: what belongs to each, what its manifests inherit, and which technology comes first."""
