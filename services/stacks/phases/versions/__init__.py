"""Versions: everybody who says one, and who of them is believed."""
