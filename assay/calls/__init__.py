"""Every operation of the API, as functions that make a ``Call``."""
