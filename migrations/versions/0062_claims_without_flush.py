"""Claim jobs without waiting for the disk.

A claim that a crash of Postgres forgets leaves its job queued. The worker that runs it must not share a fence with the
next claim, so a fence is the time of its claim in microseconds, and greater than the one before.
"""

from __future__ import annotations

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None

_CLAIM_JOBS = """
CREATE OR REPLACE FUNCTION claim_jobs(wanted text, worker text, lease double precision, cap bigint, digests text[])
RETURNS SETOF jobs
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    place record;
    most bigint;
    share double precision;
    following double precision;
    served double precision;
    picked text[];
    chosen text[] := '{}';
    busy text[] := '{}';
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
        IF picked <> '{}' THEN
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
        PERFORM 1 FROM jobs j WHERE CASE WHEN j.head THEN j.state END = 'queued' AND j.kind = wanted
            AND j.tenant_id = place.tenant_id ORDER BY j.priority DESC, j.id LIMIT 1;
        IF NOT FOUND THEN
            UPDATE job_turns t SET ready = false WHERE t.kind = wanted AND t.tenant_id = place.tenant_id;
        END IF;
    END LOOP;
    IF chosen = '{}' THEN
        FOR place IN SELECT unnest(busy) AS tenant_id LOOP
            SELECT l.running_jobs INTO most FROM tenant_limits l WHERE l.tenant_id = place.tenant_id;
            IF coalesce(most, cap) > 0 THEN
                CONTINUE WHEN holds;
                PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = place.tenant_id FOR NO KEY UPDATE;
                holds := true;
            END IF;
            chosen := jobs_to_claim(wanted, place.tenant_id, coalesce(most, cap), free);
            EXIT WHEN chosen <> '{}';
        END LOOP;
    END IF;
    IF chosen = '{}' THEN RETURN; END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN QUERY UPDATE jobs j SET state = 'running', attempt = j.attempt + 1, worker_id = worker,
        fence = greatest(j.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
        lease_until = clock_timestamp() + make_interval(secs => lease), started_at = clock_timestamp(),
        last_seq = j.last_seq + 1, model_digest = digests[array_position(chosen, j.id)], alone = false
    WHERE j.id = ANY(chosen) RETURNING j.*;
END $$
"""


def upgrade() -> None:
    op.execute(_CLAIM_JOBS)


def downgrade() -> None:
    raise RuntimeError("there is no way back: restore the backup that was made before the upgrade")
