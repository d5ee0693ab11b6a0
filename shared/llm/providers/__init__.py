"""One thin adapter per vendor: it translates, and leaves every decision to the router."""
