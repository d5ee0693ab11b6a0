"""Tool calls as models write them, whatever the dialect: one normalizer for every kind of job."""
