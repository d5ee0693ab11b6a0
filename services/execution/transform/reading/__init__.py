"""Reads one untrusted data file into a typed table. Runs INSIDE the sandbox: stands alone, imports no other room."""
