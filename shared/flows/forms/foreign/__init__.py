"""Diagrams of other programs as JSON: each is read as a flow, or refused by name; what is not kept is reported."""
