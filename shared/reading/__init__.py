"""Reads one untrusted data file into a typed table, inside the sandbox: it imports nothing but libraries."""
