"""API keys: hashed, scoped, and bound to one tenant."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, LargeBinary, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY

from shared.db import metadata

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", LargeBinary, nullable=False),  # SHA-256 of the whole key
    Column("tenant_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
)
