"""Versions: every statement about one, and which takes precedence."""
