"""Admission: what share of each limited resource one tenant may have, and when a request above it is refused."""
