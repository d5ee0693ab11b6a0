"""Fills the values of the kernels into messages."""
