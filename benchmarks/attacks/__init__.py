"""Attacks of a hostile tenant; each attack continues until it is stopped."""
