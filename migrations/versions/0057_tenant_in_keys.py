"""The tenant in every key: primary keys, foreign keys, and the tables that did not say whose their rows are.

- ``migrations.keys_online`` has filled, built and looked through everything beforehand, while everything ran; this puts
  it into its place, in a moment. Without that, as of an empty database, it is done here.
- The version before writes rows of the tables that are new to it without the tenant: a trigger fills it.
- It also writes two tables ``ON CONFLICT`` of the key without the tenant: that stays unique (``keys.KEPT``).

A later revision drops the triggers, the default '' and what is kept unique.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

from alembic import op
from sqlalchemy import text

from migrations import keys
from migrations.locks import exclusively

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

_LOCK = exclusively(*keys.TABLES)


def upgrade() -> None:
    op.execute(_LOCK)
    for parent in sorted({child.parent for child in keys.CHILDREN.values()}):
        op.execute(keys.filling(parent))
    for table, child in keys.CHILDREN.items():
        op.execute(keys.ADD_COLUMN.format(table))
        op.execute(f"DROP TRIGGER IF EXISTS {keys.TRIGGER} ON {table}")
        op.execute(keys.trigger(table))
        for part in _partitions() if table == "job_events" else [table]:
            if _any(keys.unfilled(part, child)):
                op.execute(keys.fill(part, child))
    for name, of in keys.unique_indexes().items():
        _build(name, of)
    _put_in_place()
    _key_events()
    op.execute(keys.DELETE_TENANT)


def _put_in_place() -> None:
    for reference in keys.REFERENCES:
        if not _any(f"SELECT 1 FROM pg_constraint WHERE conname = '{reference.name}'"):
            op.execute(keys.add_reference(reference))
        op.drop_constraint(reference.old, reference.table, type_="foreignkey")
    for table in keys.KEYS:
        op.drop_constraint(f"pk_{table}", table, type_="primary")
        op.execute(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY USING INDEX {keys.new_index(table)}")


def _key_events() -> None:
    """Of a table with partitions the key is made of theirs."""
    partitions = _partitions()
    for partition in partitions:
        _build(keys.new_index(partition), f"{partition} ({keys.columns(keys.EVENT_KEY)})")
    op.drop_constraint("pk_job_events", "job_events", type_="primary")
    for partition in partitions:
        key = f"ADD CONSTRAINT pk_{partition} PRIMARY KEY USING INDEX {keys.new_index(partition)}"
        op.execute(f"ALTER TABLE {partition} {key}")
    op.execute(f"ALTER TABLE ONLY job_events ADD CONSTRAINT pk_job_events PRIMARY KEY ({keys.columns(keys.EVENT_KEY)})")
    for partition in partitions:
        op.execute(f"ALTER INDEX pk_job_events ATTACH PARTITION pk_{partition}")


def downgrade() -> None:
    op.execute(_LOCK)
    for reference in keys.REFERENCES:
        op.drop_constraint(reference.name, reference.table, type_="foreignkey")
    for table, key in {**keys.KEYS, "job_events": keys.EVENT_KEY}.items():
        op.drop_constraint(f"pk_{table}", table, type_="primary")
        op.create_primary_key(f"pk_{table}", table, list(key))
    for reference in keys.REFERENCES:
        op.create_foreign_key(
            reference.old, reference.table, reference.parent, [reference.column], ["id"], ondelete=reference.deletion
        )
    for table in keys.KEPT:
        op.drop_index(keys.KEPT_INDEX.format(table), table)
    for table in keys.CHILDREN:
        op.execute(f"DROP TRIGGER {keys.TRIGGER} ON {table}")
        op.execute(f"DROP POLICY IF EXISTS tenant ON {table}")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        op.drop_column(table, "tenant_id")
    for parent in sorted({child.parent for child in keys.CHILDREN.values()}):
        op.execute(f"DROP FUNCTION tenant_of_{parent}")


def _partitions() -> list[str]:
    return [str(name) for name in op.get_bind().scalars(text(keys.PARTITIONS))]


def _any(query: str) -> bool:
    return op.get_bind().execute(text(query)).first() is not None


def _build(name: str, of: str) -> None:
    if not _any(f"SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('{name}') AND indisvalid"):
        op.execute(f"DROP INDEX IF EXISTS {name}")
        op.execute(f"CREATE UNIQUE INDEX {name} ON {of}")
