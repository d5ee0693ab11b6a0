"""Functions and triggers of Postgres that keep ``job_marks`` (revision 0049): by what the list of jobs may be asked.

They run as the owner of the table, so that the version before, which does not know it, keeps it as well.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

_OWNERS = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off"

#: What a mark is of is in its hash; two that collide are told apart by the job's row, which is looked at anyway.
_MARK = """
CREATE FUNCTION job_mark(name text, value text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT hashtextextended(name || chr(31) || value, 0) $$
"""

_LABELLED = f"""
CREATE FUNCTION jobs_labelled() RETURNS trigger {_OWNERS} AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT NEW.tenant_id, job_mark('label', key || '=' || value), NEW.created_at, NEW.id
    FROM jsonb_each_text(NEW.labels) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$
"""

_FAILED = f"""
CREATE FUNCTION jobs_failed() RETURNS trigger {_OWNERS} AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    VALUES (NEW.tenant_id, job_mark('error', NEW.error->>'code'), NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$
"""

#: The marks of a row of ``llm_calls`` that is called ``c``.
_OF_CALL = """(VALUES
    (job_mark('provider', c.served_provider)), (job_mark('model', c.served_model)),
    (job_mark('prompt', c.prompt_key || '@' || c.prompt_version)),
    (CASE WHEN c.reason = 'failover' AND c.outcome = 'ok' THEN job_mark('failed_over', '') END)) AS marks (mark)"""

_CALLED = f"""
CREATE FUNCTION llm_called() RETURNS trigger {_OWNERS} AS $$
DECLARE
    c llm_calls := NEW;
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT j.tenant_id, mark, j.created_at, j.id FROM jobs j CROSS JOIN {_OF_CALL}
    WHERE j.id = c.job_id AND mark IS NOT NULL ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$
"""

#: Of revision 0060.
WARNED_FUNCTION = f"""
CREATE OR REPLACE FUNCTION jobs_warned() RETURNS trigger {_OWNERS} AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    VALUES (NEW.tenant_id, job_mark('warned', ''), NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$
"""
WARNED_TRIGGER = (
    "CREATE TRIGGER jobs_warned AFTER INSERT OR UPDATE OF warnings ON jobs FOR EACH ROW "
    "WHEN (NEW.warnings <> '[]') EXECUTE FUNCTION jobs_warned()"
)
WARNED_BACKFILL = """
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT tenant_id, job_mark('warned', ''), created_at, id FROM jobs WHERE warnings <> '[]' ON CONFLICT DO NOTHING
"""
#: A job that is deleted while the old ones are marked would leave its mark behind.
WARNED_LEFT = """
    DELETE FROM job_marks m WHERE m.mark = job_mark('warned', '')
      AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.tenant_id = m.tenant_id AND j.id = m.job_id)
"""

_UNMARKED = f"""
CREATE FUNCTION jobs_unmarked() RETURNS trigger {_OWNERS} AS $$
BEGIN
    DELETE FROM job_marks WHERE job_id = ANY(ARRAY(SELECT id FROM removed));
    RETURN NULL;
END $$
"""

_TRUNCATED = f"""
CREATE FUNCTION jobs_truncated() RETURNS trigger {_OWNERS} AS $$
BEGIN
    DELETE FROM job_marks;
    RETURN NULL;
END $$
"""

FUNCTIONS = (_MARK, _LABELLED, _FAILED, _CALLED, _UNMARKED, _TRUNCATED)
#: A job without labels, or one that succeeded, pays for a condition and nothing else.
TRIGGERS = {
    "jobs_labelled": "AFTER INSERT ON jobs FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION jobs_labelled()",
    "jobs_failed": "AFTER UPDATE OF error ON jobs FOR EACH ROW "
    "WHEN (NEW.error->>'code' IS NOT NULL) EXECUTE FUNCTION jobs_failed()",
    "llm_called": "AFTER INSERT ON llm_calls FOR EACH ROW WHEN (NEW.job_id IS NOT NULL) EXECUTE FUNCTION llm_called()",
    "jobs_unmarked": "AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed "
    "FOR EACH STATEMENT EXECUTE FUNCTION jobs_unmarked()",
    "jobs_truncated": "AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_truncated()",
}
BACKFILL = (
    """
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT j.tenant_id, job_mark('label', key || '=' || value), j.created_at, j.id
    FROM jobs j CROSS JOIN LATERAL jsonb_each_text(j.labels) WHERE j.labels <> '{}' ON CONFLICT DO NOTHING
    """,
    """
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT tenant_id, job_mark('error', error->>'code'), created_at, id
    FROM jobs WHERE error->>'code' IS NOT NULL ON CONFLICT DO NOTHING
    """,
    f"""
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT DISTINCT j.tenant_id, mark, j.created_at, j.id
    FROM llm_calls c JOIN jobs j ON j.id = c.job_id CROSS JOIN LATERAL {_OF_CALL}
    WHERE mark IS NOT NULL ON CONFLICT DO NOTHING
    """,
)
