"""Migrations: each works under the previous version of the code (expand, then contract)."""
