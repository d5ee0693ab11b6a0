"""Jupyter notebooks: read as documents, and written with what their code has shown."""
