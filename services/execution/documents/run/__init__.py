"""Runs the code of a document in its kernels."""
