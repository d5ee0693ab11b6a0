"""Assay as tools of agents (Model Context Protocol): one implementation for standard input and output and for HTTP."""
