"""Keep undone changes of a flow for their author when others edit it.

A version before this one drops them with every edit, and takes those that are kept for ones that anybody may redo.
"""

from __future__ import annotations

from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE flow_change_sets ADD COLUMN cut boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    raise RuntimeError("there is no way back: restore the backup that was made before the upgrade")
