"""Suites of evaluations: files in the user's repository, and what is made of them."""
