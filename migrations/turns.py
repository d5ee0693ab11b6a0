"""Functions and triggers of Postgres that keep turns, heads of conversations and counts (revision 0022).

They run as the owner of the tables: whoever submits a job may not write turns.
"""

# ruff: noqa: S608 - constants of ours

from __future__ import annotations

#: Whatever the statistics say, every row is found by an index: a queue may grow from nothing to a million in a minute.
_BY_INDEX = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off"
#: Written so that one index can serve it, ``ix_jobs_heads``: with ``state = 'queued' AND head`` the planner may take
#: any index of queued jobs, and walk through all that wait behind the first of a conversation.
HEADS = "CASE WHEN head THEN state END = 'queued'"
_HEADS = HEADS.replace("head ", "j.head ").replace("state", "j.state")
_OWNERS = f"LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp {_BY_INDEX}"

# A tenant that was idle goes on where the others are (start-time fair queueing), not where it stopped. The key-share
# lock lets submits pass each other and keeps a claim from clearing the flag before they are committed.
_READY = f"""
CREATE FUNCTION job_ready(wanted text, tenant text) RETURNS void {_OWNERS} AS $$
BEGIN
    PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = tenant AND t.ready FOR KEY SHARE;
    IF FOUND THEN RETURN; END IF;
    INSERT INTO job_turns AS mine (kind, tenant_id, turn) VALUES (wanted, tenant, coalesce(
        (SELECT turn FROM job_turns t WHERE t.kind = wanted AND t.ready ORDER BY turn LIMIT 1),
        (SELECT turn FROM job_turns t WHERE t.kind = wanted ORDER BY turn DESC LIMIT 1), 0))
    ON CONFLICT (kind, tenant_id) DO UPDATE SET ready = true, turn = greatest(mine.turn, excluded.turn);
END $$
"""

# A conversation that this transaction has made cannot be known to another one. For any other, submits take turns; and
# the job that the new one waits for cannot end before this transaction: its end would not see whom to promote. It is
# found in the order of one index, as in job_promote: a vacuum may leave a table's estimate at no row at all, and of
# many indexes that then cost the same the planner took one of tenants and states, and read all of it.
ADDED = f"""
CREATE OR REPLACE FUNCTION jobs_added() RETURNS trigger {_OWNERS} SET enable_sort = off AS $$
DECLARE
    talk record;
    place record;
    some_wait boolean := false;
BEGIN
    FOR talk IN
        SELECT n.conversation_id AS id, array_agg(n.id ORDER BY n.id) AS jobs,
               bool_and(c.xmin IS NOT NULL AND c.xmin = pg_current_xact_id()::xid) AS fresh
        FROM added n LEFT JOIN conversations c ON c.id = n.conversation_id
        WHERE n.state IN ('queued', 'running') GROUP BY n.conversation_id ORDER BY n.conversation_id
    LOOP
        IF NOT talk.fresh THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(talk.id, 1));
        END IF;
        PERFORM 1 FROM jobs j WHERE j.conversation_id >= talk.id AND j.conversation_id <= talk.id
            AND j.state IN ('queued', 'running') AND j.id <> ALL(talk.jobs)
            ORDER BY j.conversation_id, j.id LIMIT 1 FOR SHARE;
        IF FOUND THEN
            some_wait := true;
            UPDATE jobs SET head = false WHERE id = ANY(talk.jobs) AND state = 'queued';
            CONTINUE;
        END IF;
        IF cardinality(talk.jobs) > 1 THEN
            some_wait := true;
            UPDATE jobs SET head = false WHERE id = ANY(talk.jobs[2:]) AND state = 'queued';
        END IF;
    END LOOP;
    FOR place IN
        SELECT kind, tenant_id, count(*) FILTER (WHERE state = 'queued') AS queued,
               count(*) FILTER (WHERE state = 'running') AS running
        FROM added WHERE state IN ('queued', 'running') GROUP BY kind, tenant_id ORDER BY kind, tenant_id
    LOOP
        INSERT INTO job_deltas (kind, tenant_id, queued, running)
        VALUES (place.kind, place.tenant_id, place.queued, place.running);
        IF place.queued > 0 AND (NOT some_wait OR EXISTS (
            SELECT 1 FROM added n WHERE n.kind = place.kind AND n.tenant_id = place.tenant_id
              AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = n.id AND j.state = 'queued' AND j.head)))
        THEN PERFORM job_ready(place.kind, place.tenant_id); END IF;
    END LOOP;
    RETURN NULL;
END $$
"""

# By a range, and so in the order of one index: by an equality the planner may walk the primary key instead.
# Whoever is next may be cancelled meanwhile: then another one is.
_PROMOTE = f"""
CREATE FUNCTION job_promote(conversation text) RETURNS void {_OWNERS} AS $$
DECLARE
    following record;
BEGIN
    LOOP
        SELECT id, kind, tenant_id INTO following FROM jobs
        WHERE conversation_id >= conversation AND conversation_id <= conversation AND state IN ('queued', 'running')
        ORDER BY conversation_id, id LIMIT 1;
        EXIT WHEN NOT FOUND;
        UPDATE jobs SET head = true WHERE id = following.id AND state IN ('queued', 'running');
        IF FOUND THEN
            PERFORM job_ready(following.kind, following.tenant_id);
            EXIT;
        END IF;
    END LOOP;
END $$
"""

_MOVED = f"""
CREATE FUNCTION jobs_moved() RETURNS trigger {_OWNERS} AS $$
BEGIN
    IF OLD.state IN ('queued', 'running') OR NEW.state IN ('queued', 'running') THEN
        INSERT INTO job_deltas (kind, tenant_id, queued, running) VALUES (NEW.kind, NEW.tenant_id,
            (NEW.state = 'queued')::int - (OLD.state = 'queued')::int,
            (NEW.state = 'running')::int - (OLD.state = 'running')::int);
    END IF;
    IF NEW.state = 'queued' AND NEW.head THEN
        PERFORM job_ready(NEW.kind, NEW.tenant_id);
    ELSIF NEW.head AND OLD.state IN ('queued', 'running') AND NEW.state NOT IN ('queued', 'running') THEN
        PERFORM job_promote(NEW.conversation_id);
    END IF;
    RETURN NULL;
END $$
"""

_REMOVED = f"""
CREATE FUNCTION jobs_removed() RETURNS trigger {_OWNERS} AS $$
BEGIN
    INSERT INTO job_deltas (kind, tenant_id, queued, running)
    SELECT kind, tenant_id, -count(*) FILTER (WHERE state = 'queued'), -count(*) FILTER (WHERE state = 'running')
    FROM removed WHERE state IN ('queued', 'running') GROUP BY kind, tenant_id;
    PERFORM job_promote(r.conversation_id) FROM removed r WHERE r.state IN ('queued', 'running') AND r.head;
    RETURN NULL;
END $$
"""

_EMPTIED = f"""
CREATE FUNCTION jobs_emptied() RETURNS trigger {_OWNERS} AS $$
BEGIN
    DELETE FROM job_turns;
    DELETE FROM job_counts;
    DELETE FROM job_deltas;
    RETURN NULL;
END $$
"""

# The tenant whose turn is the lowest. A row of job_turns that another claim holds is left to it at first: that tenant
# is being served. Only when no other tenant has anything are those looked at too, without their rows: so one tenant's
# claims do not wait for each other, unless it has a cap, which only one that holds the row can keep; whoever holds a
# row waits for no other. The flag is cleared under a lock that no submit shares, after another look.
CLAIM = f"""
CREATE OR REPLACE FUNCTION claim_job(wanted text, worker text, lease double precision, cap bigint, digest text)
RETURNS SETOF jobs LANGUAGE plpgsql {_BY_INDEX}
SET enable_sort = off AS $$
DECLARE
    place record;
    most bigint;
    share bigint;
    chosen text;
    busy text[] := '{{}}';
    holds boolean := false;
BEGIN
    FOR place IN
        SELECT t.tenant_id FROM job_turns t WHERE t.kind = wanted AND t.ready ORDER BY t.turn, t.tenant_id
    LOOP
        PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id AND t.ready
            FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            busy := busy || place.tenant_id;
            CONTINUE;
        END IF;
        holds := true;
        SELECT l.running_jobs, l.weight INTO most, share FROM tenant_limits l WHERE l.tenant_id = place.tenant_id;
        chosen := job_to_claim(wanted, place.tenant_id, coalesce(most, cap));
        IF chosen IS NOT NULL THEN
            UPDATE job_turns t SET turn = t.turn + 1.0 / greatest(coalesce(share, 1), 1)
            WHERE t.kind = wanted AND t.tenant_id = place.tenant_id;
            EXIT;
        END IF;
        PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id AND t.ready
            FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            UPDATE job_turns t SET ready = false WHERE t.kind = wanted AND t.tenant_id = place.tenant_id
                AND NOT EXISTS (SELECT 1 FROM jobs j WHERE {_HEADS} AND j.kind = wanted
                                AND j.tenant_id = place.tenant_id);
        END IF;
    END LOOP;
    IF chosen IS NULL THEN
        FOR place IN SELECT unnest(busy) AS tenant_id LOOP
            SELECT l.running_jobs INTO most FROM tenant_limits l WHERE l.tenant_id = place.tenant_id;
            IF coalesce(most, cap) > 0 THEN
                CONTINUE WHEN holds;
                PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id FOR NO KEY UPDATE;
                holds := true;
            END IF;
            chosen := job_to_claim(wanted, place.tenant_id, coalesce(most, cap));
            EXIT WHEN chosen IS NOT NULL;
        END LOOP;
    END IF;
    IF chosen IS NULL THEN RETURN; END IF;
    RETURN QUERY UPDATE jobs j SET state = 'running', attempt = j.attempt + 1, fence = j.fence + 1, worker_id = worker,
        lease_until = clock_timestamp() + make_interval(secs => lease), started_at = clock_timestamp(),
        last_seq = j.last_seq + 1, model_digest = digest, alone = false
    WHERE j.id = chosen RETURNING j.*;
END $$
"""

TO_CLAIM = f"""
CREATE OR REPLACE FUNCTION job_to_claim(wanted text, tenant text, most bigint) RETURNS text LANGUAGE plpgsql {_BY_INDEX}
SET enable_sort = off AS $$
DECLARE
    chosen text;
BEGIN
    IF most > 0 AND (SELECT count(*) FROM jobs r WHERE r.state = 'running' AND r.tenant_id = tenant
                     AND r.kind = wanted) >= most THEN
        RETURN NULL;
    END IF;
    SELECT j.id INTO chosen FROM jobs j
    WHERE {_HEADS} AND j.kind = wanted AND j.tenant_id = tenant AND j.run_at <= clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.tenant_id = j.tenant_id
                      AND r.conversation_id = j.conversation_id)
    ORDER BY j.priority DESC, j.id LIMIT 1 FOR NO KEY UPDATE OF j SKIP LOCKED;
    RETURN chosen;
END $$
"""

#: Up to ``most`` jobs of a tenant that may be claimed, locked. It runs under the settings of its caller.
SOME_TO_CLAIM = f"""
CREATE OR REPLACE FUNCTION jobs_to_claim(wanted text, tenant text, cap bigint, most bigint) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    chosen text[];
BEGIN
    IF cap > 0 THEN
        most := least(most, cap - (SELECT count(*) FROM jobs r WHERE r.state = 'running' AND r.tenant_id = tenant
                                   AND r.kind = wanted));
    END IF;
    SELECT array_agg(id) INTO chosen FROM (
        SELECT j.id FROM jobs j
        WHERE {_HEADS} AND j.kind = wanted AND j.tenant_id = tenant AND j.run_at <= clock_timestamp()
          AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.tenant_id = j.tenant_id
                          AND r.conversation_id = j.conversation_id)
        ORDER BY j.priority DESC, j.id LIMIT greatest(most, 0) FOR NO KEY UPDATE OF j SKIP LOCKED) AS claimable;
    RETURN coalesce(chosen, '{{}}');
END $$
"""

# As claim_job, for as many jobs as there are digests. A tenant is served until its turn is behind the next one's. When
# it is the turn of one again that was served before, the call ends: whoever asked calls again, and the order is right.
CLAIM_SOME = f"""
CREATE OR REPLACE FUNCTION claim_jobs(wanted text, worker text, lease double precision, cap bigint, digests text[])
RETURNS SETOF jobs LANGUAGE plpgsql {_BY_INDEX}
SET enable_sort = off AS $$
DECLARE
    place record;
    most bigint;
    share double precision;
    following double precision;
    served double precision;
    picked text[];
    chosen text[] := '{{}}';
    busy text[] := '{{}}';
    holds boolean := false;
    free bigint := cardinality(digests);
BEGIN
    FOR place IN
        SELECT t.tenant_id, t.turn FROM job_turns t WHERE t.kind = wanted AND t.ready ORDER BY t.turn, t.tenant_id
    LOOP
        EXIT WHEN served < place.turn;
        PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id AND t.ready
            FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            busy := busy || place.tenant_id;
            CONTINUE;
        END IF;
        holds := true;
        SELECT l.running_jobs, 1.0 / greatest(coalesce(l.weight, 1), 1) INTO most, share
        FROM tenant_limits l WHERE l.tenant_id = place.tenant_id;
        share := coalesce(share, 1);
        following := NULL;
        IF free > 1 THEN
            SELECT t.turn INTO following FROM job_turns t WHERE t.kind = wanted AND t.ready
                AND (t.turn, t.tenant_id) > (place.turn, place.tenant_id) ORDER BY t.turn, t.tenant_id LIMIT 1;
        END IF;
        picked := jobs_to_claim(wanted, place.tenant_id, coalesce(most, cap),
                              least(free, floor((least(following, served) - place.turn) / share)::bigint + 1));
        IF picked <> '{{}}' THEN
            UPDATE job_turns t SET turn = t.turn + share * cardinality(picked)
            WHERE t.kind = wanted AND t.tenant_id = place.tenant_id;
            chosen := chosen || picked;
            free := free - cardinality(picked);
            EXIT WHEN free = 0;
            served := least(served, place.turn + share * cardinality(picked));
            CONTINUE;
        END IF;
        PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id AND t.ready
            FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        PERFORM 1 FROM jobs j WHERE {_HEADS} AND j.kind = wanted AND j.tenant_id = place.tenant_id
            ORDER BY j.priority DESC, j.id LIMIT 1;
        IF NOT FOUND THEN
            UPDATE job_turns t SET ready = false WHERE t.kind = wanted AND t.tenant_id = place.tenant_id;
        END IF;
    END LOOP;
    IF chosen = '{{}}' THEN
        FOR place IN SELECT unnest(busy) AS tenant_id LOOP
            SELECT l.running_jobs INTO most FROM tenant_limits l WHERE l.tenant_id = place.tenant_id;
            IF coalesce(most, cap) > 0 THEN
                CONTINUE WHEN holds;
                PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id FOR NO KEY UPDATE;
                holds := true;
            END IF;
            chosen := jobs_to_claim(wanted, place.tenant_id, coalesce(most, cap), free);
            EXIT WHEN chosen <> '{{}}';
        END LOOP;
    END IF;
    IF chosen = '{{}}' THEN RETURN; END IF;
    RETURN QUERY UPDATE jobs j SET state = 'running', attempt = j.attempt + 1, fence = j.fence + 1, worker_id = worker,
        lease_until = clock_timestamp() + make_interval(secs => lease), started_at = clock_timestamp(),
        last_seq = j.last_seq + 1, model_digest = digests[array_position(chosen, j.id)], alone = false
    WHERE j.id = ANY(chosen) RETURNING j.*;
END $$
"""

#: The first 10,000 queued jobs of a kind and tenant, and how many go before each.
PLACES = f"""
CREATE FUNCTION job_places(wanted text, tenant text) RETURNS TABLE (id text, ahead bigint) LANGUAGE sql STABLE
{_BY_INDEX} SET enable_sort = off AS $$
    SELECT id, row_number() OVER (ORDER BY priority DESC, id) - 1 FROM (
        SELECT j.id, j.priority FROM jobs j WHERE j.state = 'queued' AND j.kind = wanted AND j.tenant_id = tenant
        ORDER BY j.priority DESC, j.id LIMIT 10000) AS queue
$$
"""

FUNCTIONS = (_READY, _PROMOTE, ADDED, _MOVED, _REMOVED, _EMPTIED, TO_CLAIM, CLAIM)
TRIGGERS = (
    "CREATE TRIGGER jobs_added AFTER INSERT ON jobs REFERENCING NEW TABLE AS added "
    "FOR EACH STATEMENT EXECUTE FUNCTION jobs_added()",
    "CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs FOR EACH ROW "
    "WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION jobs_moved()",
    "CREATE TRIGGER jobs_removed AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed "
    "FOR EACH STATEMENT EXECUTE FUNCTION jobs_removed()",
    "CREATE TRIGGER jobs_emptied AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_emptied()",
)
