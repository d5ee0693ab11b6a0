"""Evaluations: cases run as jobs, what must hold of them, and what the differences mean."""
