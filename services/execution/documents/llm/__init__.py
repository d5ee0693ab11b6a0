"""Calls models, and checks and repairs their answers."""
