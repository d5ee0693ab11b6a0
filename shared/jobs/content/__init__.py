"""Files of jobs, and how much a tenant may store."""
