"""Every package that has tables, imported for the metadata that ``alembic check`` compares with the database."""

import services.search.tables
import shared.blobs
import shared.collections
import shared.conversations
import shared.flows.tables
import shared.jobs.tables
import shared.keys
import shared.llm.tables
import shared.stacks.tables

__all__ = ["services", "shared"]
