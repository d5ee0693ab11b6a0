"""A job in a worker: claim, lease, run, report and end."""
