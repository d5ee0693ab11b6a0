"""Let the roles of workers see and change the work of their own kinds only (see ``migrations.roles``).

A version before this one works as before: its workers need no other rows.
"""

from __future__ import annotations

from alembic import op

from migrations.locks import exclusively
from migrations.roles import NARROWED

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None

# Functions, as a subquery in a policy would be prepared with every statement on the table, whether it is needed or not.
_FUNCTIONS = {
    "assay_works(job text, tenant text, foreign_kinds text[])": "j.id = job AND j.tenant_id = tenant",
    "assay_talks(conversation text, tenant text, foreign_kinds text[])": (
        "j.conversation_id = conversation AND j.tenant_id = tenant"
    ),
    "assay_serves(tenant text, foreign_kinds text[])": "j.state = 'running' AND j.tenant_id = tenant",
}
_FUNCTION = """
CREATE FUNCTION {declaration} RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM 1 FROM jobs j WHERE {condition} AND j.kind <> ALL(foreign_kinds) LIMIT 1;
    RETURN FOUND;
END $$
"""


def upgrade() -> None:
    op.execute(exclusively(*NARROWED))  # the policies follow in this transaction
    for declaration, condition in _FUNCTIONS.items():
        op.execute(_FUNCTION.format(declaration=declaration, condition=condition))


def downgrade() -> None:
    raise RuntimeError("there is no way back: restore the backup that was made before the upgrade")
