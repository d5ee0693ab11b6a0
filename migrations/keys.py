"""The tenant in every key (revision 0057): which keys there are, and what fills the tenant of rows that had none.

The tenant stands last in a primary key, so that its index serves whoever knows the id alone, as the version before.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

from typing import NamedTuple

_OWNERS = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off"

#: What identifies a row of a table beside its tenant.
KEYS = {
    "batches": ("id",),
    "collection_tables": ("collection_id", "name"),
    "collections": ("id",),
    "conversations": ("id",),
    "evaluation_runs": ("evaluation_id", "repetition", "case_number", "variant_number"),
    "evaluations": ("id",),
    "files": ("id",),
    "flow_change_sets": ("flow_id", "seq"),
    "flow_proposals": ("id",),
    "flow_snapshots": ("flow_id", "version"),
    "flow_versions": ("flow_id", "version"),
    "flows": ("id",),
    "job_deltas": ("id",),
    "job_forms": ("job_id", "name"),
    "jobs": ("id",),
    "llm_calls": ("id",),
    "llm_texts": ("call_id",),
    "messages": ("id",),
    "search_attempts": ("job_id", "number"),
    "search_rewrites": ("collection_id", "name", "wording_sha256"),
    "shadows": ("id",),
    "uploads": ("id",),
    "webhook_deliveries": ("id",),
    "webhook_secrets": ("id",),
}
#: Of ``job_events``, whose primary key is made of those of its partitions.
EVENT_KEY = ("job_id", "seq")
#: The version before writes these ``ON CONFLICT`` of the key without the tenant: that stays unique for now.
KEPT = ("collection_tables", "search_rewrites")
KEPT_INDEX = "ux_{}_before"


class Reference(NamedTuple):
    """A foreign key: of old it names the id alone, now the tenant as well."""

    table: str
    column: str
    parent: str
    old: str  #: its name of old
    deletion: str = "CASCADE"  #: what becomes of the row of old when its parent is deleted

    @property
    def name(self) -> str:
        return f"fk_{self.table}_{self.column}_{self.parent}_tenant"

    @property
    def on_delete(self) -> str:
        """SET NULL would set the tenant null too: a batch is deleted after its jobs, with its tenant."""
        return " ON DELETE CASCADE" if self.deletion == "CASCADE" else ""


REFERENCES = (
    Reference("collection_tables", "collection_id", "collections", "fk_collection_tables_collection_id"),
    Reference("evaluation_runs", "evaluation_id", "evaluations", "fk_evaluation_runs_evaluation_id_evaluations"),
    Reference("flow_change_sets", "flow_id", "flows", "fk_flow_change_sets_flow_id"),
    Reference("flow_proposals", "flow_id", "flows", "fk_flow_proposals_flow_id"),
    Reference("flow_snapshots", "flow_id", "flows", "fk_flow_snapshots_flow_id"),
    Reference("flow_versions", "flow_id", "flows", "fk_flow_versions_flow_id"),
    Reference("job_forms", "job_id", "jobs", "fk_job_forms_job_id"),
    Reference("jobs", "batch_id", "batches", "fk_jobs_batch_id", "SET NULL"),
    Reference("llm_texts", "call_id", "llm_calls", "fk_llm_texts_call_id_llm_calls"),
    Reference("messages", "conversation_id", "conversations", "fk_messages_conversation_id"),
    Reference("search_attempts", "job_id", "jobs", "fk_search_attempts_job_id"),
    Reference("search_rewrites", "collection_id", "collections", "fk_search_rewrites_collection_id"),
    Reference("stack_results", "job_id", "jobs", "fk_stack_results_job_id"),
    Reference("stack_sightings", "job_id", "jobs", "fk_stack_sightings_job_id"),
    Reference("webhook_deliveries", "job_id", "jobs", "fk_webhook_deliveries_job_id_jobs"),
)


class Child(NamedTuple):
    """A table whose rows are a tenant's because their parent is: of old they do not say so themselves."""

    column: str
    parent: str


CHILDREN = {
    "collection_tables": Child("collection_id", "collections"),
    "flow_change_sets": Child("flow_id", "flows"),
    "flow_proposals": Child("flow_id", "flows"),
    "flow_snapshots": Child("flow_id", "flows"),
    "flow_versions": Child("flow_id", "flows"),
    "job_events": Child("job_id", "jobs"),
    "job_forms": Child("job_id", "jobs"),
    "search_rewrites": Child("collection_id", "collections"),
}
#: Everything whose key changes; locked in this order.
TABLES = tuple(sorted({*KEYS, *(reference.table for reference in REFERENCES), "job_events"}))
TRIGGER = "tenant_of_parent"
#: A default that is a constant is added without a look at the rows.
ADD_COLUMN = "ALTER TABLE {} ADD COLUMN IF NOT EXISTS tenant_id text NOT NULL DEFAULT ''"
PARTITIONS = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'job_events'::regclass ORDER BY 1"


def filling(parent: str) -> str:
    """The function that gives a row the tenant of its parent when whoever writes it does not, as the version before."""
    column = next(child.column for child in CHILDREN.values() if child.parent == parent)
    return f"""
        CREATE OR REPLACE FUNCTION tenant_of_{parent}() RETURNS trigger {_OWNERS} AS $$
        BEGIN
            NEW.tenant_id := coalesce((SELECT p.tenant_id FROM {parent} p WHERE p.id = NEW.{column}), '');
            RETURN NEW;
        END $$
    """


def trigger(table: str) -> str:
    return (
        f"CREATE TRIGGER {TRIGGER} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW WHEN (NEW.tenant_id = '') "
        f"EXECUTE FUNCTION tenant_of_{CHILDREN[table].parent}()"
    )


def fill(table: str, child: Child, within: str = "true") -> str:
    """Fill rows; one that somebody holds is left for the next time: nobody waits for anybody in a circle."""
    return f"""
        UPDATE {table} r SET tenant_id = p.tenant_id FROM {child.parent} p
        WHERE p.id = r.{child.column} AND r.ctid = ANY(ARRAY(
            SELECT ctid FROM {table} WHERE tenant_id = '' AND {within} FOR NO KEY UPDATE SKIP LOCKED))
    """


def unfilled(table: str, child: Child) -> str:
    """One row when there is one left to be filled. Events may outlive their job: nobody reads those."""
    return f"""
        SELECT 1 FROM {table} r
        WHERE tenant_id = '' AND EXISTS (SELECT 1 FROM {child.parent} p WHERE p.id = r.{child.column}) LIMIT 1
    """


def new_index(table: str) -> str:
    """The name of a primary key's index until it takes the place of the one of old."""
    return f"pk_{table}_tenant"


def columns(key: tuple[str, ...]) -> str:
    return ", ".join((*key, "tenant_id"))


def unique_indexes() -> dict[str, str]:
    """What has to be built of plain tables: name to ``table (columns)``."""
    built = {new_index(table): f"{table} ({columns(key)})" for table, key in KEYS.items()}
    return built | {KEPT_INDEX.format(table): f"{table} ({', '.join(KEYS[table])})" for table in KEPT}


def add_reference(reference: Reference) -> str:
    return (
        f"ALTER TABLE {reference.table} ADD CONSTRAINT {reference.name} FOREIGN KEY ({reference.column}, tenant_id) "
        f"REFERENCES {reference.parent} (id, tenant_id){reference.on_delete}"
    )


#: As of revision 0018, but for tables whose rows go with those that they refer to, and for partitions.
DELETE_TENANT = """
    CREATE OR REPLACE FUNCTION assay_delete_tenant(doomed text, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        name text;
        removed bigint;
        total bigint := 0;
    BEGIN
        IF NOT EXISTS (SELECT 1 FROM tenant_deletions WHERE tenant = doomed) THEN
            RAISE EXCEPTION 'the deletion of this tenant has not been requested';
        END IF;
        INSERT INTO dropped_collections (collection_id)
        SELECT id FROM collections WHERE tenant_id = doomed ON CONFLICT DO NOTHING;
        FOR name IN
            SELECT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE a.attname = 'tenant_id' AND c.relkind = 'r' AND NOT c.relispartition
              AND c.relnamespace = 'public'::regnamespace AND c.relname <> 'audit_log'
              AND NOT EXISTS (SELECT 1 FROM pg_constraint f
                              WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confdeltype = 'c')
        LOOP
            BEGIN
                EXECUTE format(
                    'DELETE FROM %I WHERE ctid = ANY(ARRAY(SELECT ctid FROM %I WHERE tenant_id = $1 LIMIT $2))',
                    name, name
                ) USING doomed, most;
                GET DIAGNOSTICS removed = ROW_COUNT;
                total := total + removed;
            EXCEPTION WHEN foreign_key_violation THEN
                total := total + 1;  -- what refers to it goes first: there is another round
            END;
        END LOOP;
        RETURN total;
    END $$
"""
