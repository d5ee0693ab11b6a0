"""A role for each service. What each may do is in ``migrations/roles.py``, which every upgrade applies."""

from __future__ import annotations

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The roles are made after the last revision, so that they know every table."""


def downgrade() -> None:
    """Roles belong to the whole server; they stay, without tables."""
