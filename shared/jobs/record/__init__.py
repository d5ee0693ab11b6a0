"""What Postgres holds of jobs: tables, and statements that either side executes, sync or async."""
