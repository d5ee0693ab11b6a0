"""The demo model: follows rules instead of a network, and refuses what the rules do not cover."""
