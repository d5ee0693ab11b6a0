"""``job_events`` by days of the job's id (revision 0056): functions of Postgres that add, drop and tell days.

Ids of jobs are UUIDv7, so their order is that of time, and a job's events are all in the partition of its day. They run
as the owner of the tables: a service may ask for a day to be added or dropped, and for nothing else. Locks are waited
for briefly: whoever waits for one of these holds up every write behind it. Try again later.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

_OWNERS = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC'"
_BY_INDEX = "SET enable_seqscan = off SET enable_bitmapscan = off"
_JOINED_BY_INDEX = f"{_BY_INDEX} SET enable_hashjoin = off SET enable_mergejoin = off"
#: Less than what calls that workers make together wait (``shared.jobs.driver``): they are held up, and do not fail.
_BRIEFLY = "SET lock_timeout = '100ms'"
_DAY = "interval '1 day'"

#: The lowest id that a job may have which is submitted at a moment: UUIDv7 begins with milliseconds since 1970.
_ID_AT = """
CREATE FUNCTION job_id_at(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(digits, 8) || '-' || right(digits, 4)
    FROM (SELECT lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') AS digits) AS hex
$$
"""

#: Each partition that is no default one: ids from ``from_id`` (null: the lowest of all) up to and without ``to_id``.
_PARTITIONS = """
CREATE FUNCTION job_event_partitions() RETURNS TABLE (name text, from_id text, to_id text)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT relname, substring(bound FROM 'FROM \\(''([^'']*)''\\)'), substring(bound FROM 'TO \\(''([^'']*)''\\)')
    FROM (SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) AS bound
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'job_events'::regclass) AS bounds
    WHERE bound <> 'DEFAULT' ORDER BY 3
$$
"""

# CREATE TABLE .. PARTITION OF would lock all of job_events: ATTACH locks the default partition alone, and looks through
# it, which is empty as a rule. A day of which it holds events, as after a week without a reconciler, stays in it.
_ADD = f"""
CREATE FUNCTION assay_add_event_days(ahead integer) RETURNS integer {_OWNERS} {_BY_INDEX} {_BRIEFLY} AS $$
DECLARE
    today timestamptz := date_trunc('day', statement_timestamp(), 'UTC');
    first text;
    past text;
    added integer := 0;
BEGIN
    LOCK TABLE ONLY job_events IN SHARE UPDATE EXCLUSIVE MODE;  -- others that add or drop take turns
    FOR number IN 0 .. least(ahead, 31) LOOP
        first := job_id_at(today + number * {_DAY});
        past := job_id_at(today + (number + 1) * {_DAY});
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM job_event_partitions() p WHERE coalesce(p.from_id, '') < past AND p.to_id > first);
        CONTINUE WHEN EXISTS (SELECT 1 FROM job_events_default d WHERE d.job_id >= first AND d.job_id < past);
        EXECUTE format('CREATE TABLE %I (LIKE job_events INCLUDING ALL)',
            'job_events_' || to_char((today + number * {_DAY}) AT TIME ZONE 'UTC', 'YYYYMMDD'));
        EXECUTE format('ALTER TABLE job_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            'job_events_' || to_char((today + number * {_DAY}) AT TIME ZONE 'UTC', 'YYYYMMDD'), first, past);
        added := added + 1;
    END LOOP;
    RETURN added;
END $$
"""

# Nobody can submit a job while job_events is locked, so what the second look does not find cannot come any more.
# The first one is for what deletion has left in the index: whoever looks first passes over it slowly.
_DROP = f"""
CREATE FUNCTION assay_drop_event_days(partition text) RETURNS boolean {_OWNERS} {_BY_INDEX} {_BRIEFLY} AS $$
DECLARE
    bounds record;
BEGIN
    SELECT coalesce(p.from_id, '') AS first, p.to_id AS past INTO bounds FROM job_event_partitions() p
    WHERE p.name = partition AND p.to_id <= job_id_at(date_trunc('day', statement_timestamp(), 'UTC'));
    IF NOT FOUND OR job_ids_between(bounds.first, bounds.past) THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY job_events IN ACCESS EXCLUSIVE MODE;
    IF job_ids_between(bounds.first, bounds.past) THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE job_events DETACH PARTITION %I', partition);
    EXECUTE format('DROP TABLE %I', partition);
    RETURN true;
EXCEPTION WHEN undefined_table THEN
    RETURN false;  -- another one dropped it while this one waited
END $$
"""

_BETWEEN = f"""
CREATE FUNCTION job_ids_between(first text, past text) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp {_BY_INDEX} AS $$
BEGIN
    PERFORM 1 FROM jobs j WHERE j.id >= first AND j.id < past ORDER BY j.id LIMIT 1;
    RETURN FOUND;
END $$
"""

# Events go with their job, whoever deletes it. Retention alone says from which id on it will drop whole days instead;
# the default partition is never dropped.
_REMOVED = f"""
CREATE FUNCTION jobs_events_removed() RETURNS trigger {_OWNERS} {_JOINED_BY_INDEX} AS $$
DECLARE
    dropped_from text := nullif(current_setting('assay.events_dropped_from', true), '');
BEGIN
    IF dropped_from IS NULL THEN
        DELETE FROM job_events e USING removed r WHERE e.job_id = r.id;
        RETURN NULL;
    END IF;
    DELETE FROM job_events_default e USING removed r WHERE e.job_id = r.id;
    PERFORM 1 FROM removed r WHERE r.id < dropped_from LIMIT 1;
    IF FOUND THEN
        DELETE FROM job_events e USING removed r WHERE e.job_id = r.id AND r.id < dropped_from;
    END IF;
    RETURN NULL;
END $$
"""

_EMPTIED = f"""
CREATE FUNCTION jobs_events_emptied() RETURNS trigger {_OWNERS} AS $$
BEGIN
    TRUNCATE job_events;
    RETURN NULL;
END $$
"""

FUNCTIONS = (_ID_AT, _PARTITIONS, _BETWEEN, _ADD, _DROP, _REMOVED, _EMPTIED)
TRIGGERS = {
    "jobs_events_removed": "AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed "
    "FOR EACH STATEMENT EXECUTE FUNCTION jobs_events_removed()",
    "jobs_events_emptied": "AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_events_emptied()",
}
#: What the reconciler may execute, and nobody else.
CALLED = ("assay_add_event_days(integer)", "assay_drop_event_days(text)")
DROPPED_WITH_THEM = "job_id_at, job_event_partitions, job_ids_between, assay_add_event_days, assay_drop_event_days"
#: Days that are added ahead of today.
AHEAD = 7
#: Begins the name of the constraint with which the table of before becomes the first partition without being read.
BEFORE = "job_events_before_"
