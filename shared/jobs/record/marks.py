"""Marks of jobs: values that a list can be filtered by, each with its jobs from the newest on (triggers:
``baseline.sql``).

A mark is a hash of its value, so a job found by its mark is still compared with the value.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Index, Table, Text

from shared.db import metadata

marks = Table(
    "job_marks",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("mark", BigInteger, primary_key=True),
    Column("created_at", DateTime(timezone=True), primary_key=True),  # of the job
    Column("job_id", Text, primary_key=True),
)
Index("ix_job_marks_job", marks.c.job_id)
