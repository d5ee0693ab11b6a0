"""The synchronous client, generated from ``assay/_async``; only ``blocking.py`` is written by hand."""
