"""Reads a document: every block with its exact lines."""
