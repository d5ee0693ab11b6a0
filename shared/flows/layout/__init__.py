"""A deterministic layered layout: ranks, order, coordinates."""
