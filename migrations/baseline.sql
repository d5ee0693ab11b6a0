-- The schema of Assay as of revision 0060, the baseline from which every later revision starts.
--
-- Tables first, by subject; then functions and their triggers. Roles, their grants and the row-level security policies
-- are not here: `migrations/roles.py` applies them after every upgrade. What a comment calls retired is kept for the
-- previous version of the code and written by no one else; a later revision drops it.


-- Tenants, keys and requests
-- --------------------------

CREATE TABLE api_keys (
    id text NOT NULL,
    hash bytea NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    parent_id text,
    last_used_at timestamptz,
    CONSTRAINT pk_api_keys PRIMARY KEY (id)
);

-- One-time codes that sign in to the console.
CREATE TABLE session_codes (
    hash bytea NOT NULL,
    key_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_session_codes PRIMARY KEY (hash)
);

CREATE TABLE tenant_limits (
    tenant_id text NOT NULL,
    queued_jobs bigint,
    running_jobs bigint,
    storage_bytes bigint,
    streams bigint,
    tokens_per_day bigint,
    requests_per_minute bigint,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_by text,
    weight bigint,
    CONSTRAINT pk_tenant_limits PRIMARY KEY (tenant_id)
);

-- Which models a tenant may use.
CREATE TABLE tenant_models (
    tenant_id text NOT NULL,
    allowed jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    CONSTRAINT pk_tenant_models PRIMARY KEY (tenant_id)
);

-- The column is not tenant_id: the row outlives every row that has one.
CREATE TABLE tenant_deletions (
    tenant text NOT NULL,
    actor text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_tenant_deletions PRIMARY KEY (tenant)
);

-- Append-only: a trigger refuses every other change.
CREATE TABLE audit_log (
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    tenant_id text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    object text,
    address text,
    request_id text,
    detail jsonb NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT pk_audit_log PRIMARY KEY (seq)
);

CREATE TABLE idempotency_keys (
    tenant_id text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    status integer,
    headers jsonb,
    body bytea,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (tenant_id, key)
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);


-- Files
-- -----

CREATE TABLE files (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    media_type text NOT NULL,
    job_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_files PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_files_job_id ON files (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX ix_files_sha256 ON files (sha256);
CREATE INDEX ix_files_tenant_id ON files (tenant_id, created_at, id);
CREATE INDEX ix_files_uploaded ON files (created_at) WHERE job_id IS NULL;

-- Files that are uploaded in parts (tus).
CREATE TABLE uploads (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    received bigint NOT NULL DEFAULT '0',
    file_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ck_uploads_received CHECK (received BETWEEN 0 AND size),
    CONSTRAINT pk_uploads PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_uploads_tenant_id ON uploads (tenant_id, created_at);

-- Retired.
CREATE TABLE blobs (
    sha256 text NOT NULL,
    size bigint NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_blobs PRIMARY KEY (sha256)
);


-- Jobs
-- ----

CREATE TABLE conversations (
    id text NOT NULL,
    tenant_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_conversations PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_conversations_tenant_id_created_at_id ON conversations (tenant_id, created_at, id);

CREATE TABLE messages (
    id bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id text NOT NULL,
    conversation_id text NOT NULL,
    job_id text,
    role text NOT NULL,
    content text NOT NULL,
    tool_calls jsonb NOT NULL DEFAULT '[]',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_messages PRIMARY KEY (id, tenant_id),
    CONSTRAINT fk_messages_conversation_id_conversations_tenant
        FOREIGN KEY (conversation_id, tenant_id) REFERENCES conversations (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_messages_conversation_id_id ON messages (conversation_id, id);

CREATE TABLE batches (
    id text NOT NULL,
    tenant_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_batches PRIMARY KEY (id, tenant_id)
);

-- `head`: of the queued and running jobs of its conversation, this one may run; triggers maintain it. `rung_at` is
-- retired: it was the name of `notified_at`.
CREATE TABLE jobs (
    id text NOT NULL,
    tenant_id text NOT NULL,
    kind text NOT NULL,
    state text NOT NULL DEFAULT 'queued',
    priority smallint NOT NULL DEFAULT '5',
    input jsonb NOT NULL,
    result jsonb,
    error jsonb,
    warnings jsonb NOT NULL DEFAULT '[]',
    labels jsonb NOT NULL DEFAULT '{}',
    budget jsonb NOT NULL DEFAULT '{}',
    usage jsonb NOT NULL DEFAULT '{}',
    overrides jsonb NOT NULL DEFAULT '{}',
    conversation_id text NOT NULL,
    replayed_from text,
    batch_id text,
    actor text NOT NULL,
    request_id text,
    trace_context text,
    attempt integer NOT NULL DEFAULT 0,
    crashes integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT '0',
    worker_id text,
    last_seq integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    run_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    rung_at timestamptz,
    cancel_requested_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    webhook jsonb,
    webhook_attempts integer NOT NULL DEFAULT 0,
    webhook_due_at timestamptz,
    webhook_done boolean NOT NULL DEFAULT false,
    notified_at timestamptz,
    model_digest text,
    suspect boolean NOT NULL DEFAULT false,
    alone boolean NOT NULL DEFAULT false,
    head boolean NOT NULL DEFAULT true,
    stored_bytes bigint NOT NULL DEFAULT '0',
    CONSTRAINT ck_jobs_state CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'dead')),
    CONSTRAINT pk_jobs PRIMARY KEY (id, tenant_id),
    CONSTRAINT fk_jobs_batch_id_batches_tenant
        FOREIGN KEY (batch_id, tenant_id) REFERENCES batches (id, tenant_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX ix_jobs_batch ON jobs (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX ix_jobs_conversation ON jobs (conversation_id, kind, finished_at) WHERE state = 'succeeded';
CREATE INDEX ix_jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
-- `ix_jobs_heads` and `ix_jobs_waiting` are written so that only the statements that name them can use them: with
-- `state = 'queued'` the planner might walk through the jobs of every tenant.
CREATE INDEX ix_jobs_heads ON jobs (kind, tenant_id, priority DESC, id) WHERE CASE WHEN head THEN state END = 'queued';
CREATE INDEX ix_jobs_list ON jobs (tenant_id, created_at DESC, id DESC);
CREATE INDEX ix_jobs_list_kind ON jobs (tenant_id, kind, state, created_at DESC, id DESC);
CREATE INDEX ix_jobs_list_state ON jobs (tenant_id, state, created_at DESC, id DESC);
CREATE INDEX ix_jobs_of_conversation ON jobs (conversation_id, id);
CREATE INDEX ix_jobs_order ON jobs (conversation_id, id) WHERE state IN ('queued', 'running');
CREATE INDEX ix_jobs_replays ON jobs (replayed_from) WHERE replayed_from IS NOT NULL;
CREATE INDEX ix_jobs_running ON jobs (tenant_id, conversation_id, kind) WHERE state = 'running';
CREATE INDEX ix_jobs_served ON jobs (kind, tenant_id, started_at);
CREATE INDEX ix_jobs_stored ON jobs (tenant_id) INCLUDE (stored_bytes) WHERE stored_bytes >= 1024;
CREATE INDEX ix_jobs_turn ON jobs (kind, tenant_id, priority DESC, id) WHERE state = 'queued';
CREATE INDEX ix_jobs_waiting ON jobs (kind, created_at) WHERE CASE state WHEN 'queued' THEN true END;
CREATE INDEX ix_jobs_webhook_due ON jobs (tenant_id, coalesce(webhook_due_at, finished_at))
    WHERE webhook IS NOT NULL AND NOT webhook_done AND finished_at IS NOT NULL;
-- A column that has one value now, as when every job has succeeded, would make a generic plan expect every row.
ALTER TABLE jobs ALTER COLUMN tenant_id SET (n_distinct = 1000);
ALTER TABLE jobs ALTER COLUMN kind SET (n_distinct = 20);
ALTER TABLE jobs ALTER COLUMN state SET (n_distinct = 20);

-- Prepared representations of results.
CREATE TABLE job_forms (
    job_id text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    body bytea NOT NULL,
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_job_forms PRIMARY KEY (job_id, name, tenant_id),
    CONSTRAINT fk_job_forms_job_id_jobs_tenant
        FOREIGN KEY (job_id, tenant_id) REFERENCES jobs (id, tenant_id) ON DELETE CASCADE
);

-- A partition for each day of the job's id (UUIDv7), so that retention drops days instead of deleting rows. Ids that
-- are not times, or of a day without a partition, go to the default partition.
CREATE TABLE job_events (
    job_id text NOT NULL,
    seq integer NOT NULL,
    type text NOT NULL,
    fence bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    data jsonb NOT NULL DEFAULT '{}',
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_job_events PRIMARY KEY (job_id, seq, tenant_id)
) PARTITION BY RANGE (job_id);
CREATE TABLE job_events_first (
    LIKE job_events INCLUDING DEFAULTS,
    CONSTRAINT pk_job_events_first PRIMARY KEY (job_id, seq, tenant_id)
);
CREATE TABLE job_events_default (
    LIKE job_events INCLUDING DEFAULTS,
    CONSTRAINT pk_job_events_default PRIMARY KEY (job_id, seq, tenant_id)
);
ALTER TABLE job_events ATTACH PARTITION job_events_default DEFAULT;

-- Which tenant is next of a kind. `ready` is true while the tenant may have a job to claim: whoever queues a job sets
-- it, a claim that finds none clears it.
CREATE TABLE job_turns (
    kind text NOT NULL,
    tenant_id text NOT NULL,
    turn double precision NOT NULL DEFAULT '0',
    ready boolean NOT NULL DEFAULT true,
    CONSTRAINT pk_job_turns PRIMARY KEY (kind, tenant_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX ix_job_turns_last ON job_turns (kind, turn);
CREATE INDEX ix_job_turns_next ON job_turns (kind, turn, tenant_id) WHERE ready;

-- Queued and running jobs. Statements add to `job_deltas` and the reconciler sums them up here, so that no statement
-- waits for another one's row.
CREATE TABLE job_counts (
    kind text NOT NULL,
    tenant_id text NOT NULL,
    queued bigint NOT NULL,
    running bigint NOT NULL,
    CONSTRAINT pk_job_counts PRIMARY KEY (tenant_id, kind)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

CREATE TABLE job_deltas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL,
    tenant_id text NOT NULL,
    queued bigint NOT NULL,
    running bigint NOT NULL,
    CONSTRAINT pk_job_deltas PRIMARY KEY (id, tenant_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- What the list of jobs can be filtered by, with the jobs in order; triggers maintain it.
CREATE TABLE job_marks (
    tenant_id text NOT NULL,
    mark bigint NOT NULL,
    created_at timestamptz NOT NULL,
    job_id text NOT NULL,
    CONSTRAINT pk_job_marks PRIMARY KEY (tenant_id, mark, created_at, job_id)
);
CREATE INDEX ix_job_marks_job ON job_marks (job_id);

CREATE TABLE workers (
    id text NOT NULL,
    service text NOT NULL,
    kinds text[] NOT NULL,
    concurrency integer NOT NULL,
    version text NOT NULL,
    facts jsonb NOT NULL DEFAULT '{}',
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_workers PRIMARY KEY (id)
);

CREATE TABLE webhook_secrets (
    id text NOT NULL,
    tenant_id text NOT NULL,
    place smallint NOT NULL,
    secret text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ck_webhook_secrets_place CHECK (place IN (1, 2)),
    CONSTRAINT pk_webhook_secrets PRIMARY KEY (id, tenant_id),
    CONSTRAINT uq_webhook_secrets_tenant_id_place UNIQUE (tenant_id, place)
);

-- One row for each attempt.
CREATE TABLE webhook_deliveries (
    id text NOT NULL,
    tenant_id text NOT NULL,
    job_id text NOT NULL,
    attempt integer NOT NULL,
    outcome text NOT NULL,
    http_status integer,
    detail text,
    seconds double precision NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id, tenant_id),
    CONSTRAINT fk_webhook_deliveries_job_id_jobs_tenant
        FOREIGN KEY (job_id, tenant_id) REFERENCES jobs (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_webhook_deliveries_job_id ON webhook_deliveries (job_id, id);


-- Models and prompts
-- ------------------

CREATE TABLE llm_calls (
    id bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id text NOT NULL,
    job_id text,
    job_attempt integer NOT NULL DEFAULT 1,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    turn integer NOT NULL,
    attempt integer NOT NULL,
    role text NOT NULL,
    requested_provider text NOT NULL,
    requested_model text NOT NULL,
    served_provider text,
    served_model text,
    reason text NOT NULL,
    cause text,
    outcome text NOT NULL,
    http_status integer,
    input_tokens integer,
    output_tokens integer,
    cached_tokens integer,
    cost_usd double precision,
    prompt_key text,
    prompt_version integer,
    seconds double precision NOT NULL,
    first_token_seconds double precision,
    finish text,
    detail text,
    source text NOT NULL,
    queue_seconds double precision,
    parameters jsonb,
    request uuid,
    CONSTRAINT pk_llm_calls PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_llm_calls_job_id_id ON llm_calls (job_id, id);
CREATE INDEX ix_llm_calls_tenant_id_at ON llm_calls (tenant_id, at);

CREATE TABLE llm_texts (
    call_id bigint NOT NULL,
    tenant_id text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body bytea NOT NULL,
    CONSTRAINT pk_llm_texts PRIMARY KEY (call_id, tenant_id),
    CONSTRAINT fk_llm_texts_call_id_llm_calls_tenant
        FOREIGN KEY (call_id, tenant_id) REFERENCES llm_calls (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_llm_texts_at ON llm_texts (at);

CREATE TABLE model_chains (
    role text NOT NULL,
    chain jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    CONSTRAINT pk_model_chains PRIMARY KEY (role)
);

-- Model servers that an operator has named.
CREATE TABLE model_endpoints (
    name text NOT NULL,
    settings jsonb NOT NULL,
    facts jsonb,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    CONSTRAINT pk_model_endpoints PRIMARY KEY (name)
);

-- What operators have set of the vendors' rows.
CREATE TABLE model_vendors (
    name text NOT NULL,
    settings jsonb NOT NULL,
    facts jsonb,
    address text,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    CONSTRAINT pk_model_vendors PRIMARY KEY (name)
);

CREATE TABLE prompt_versions (
    key text NOT NULL,
    version integer NOT NULL,
    text text NOT NULL,
    is_default boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text,
    note text,
    CONSTRAINT pk_prompt_versions PRIMARY KEY (key, version)
);

CREATE TABLE prompt_labels (
    key text NOT NULL,
    label text NOT NULL,
    version integer NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_prompt_labels PRIMARY KEY (key, label)
);

-- What a version of a prompt had to pass.
CREATE TABLE prompt_gates (
    key text NOT NULL,
    version integer NOT NULL,
    evaluation_id text NOT NULL,
    tenant_id text NOT NULL,
    runs integer NOT NULL,
    successes integer NOT NULL,
    required double precision NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_prompt_gates PRIMARY KEY (key, version, evaluation_id)
);


-- Evaluations
-- -----------

CREATE TABLE evaluations (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    suite jsonb NOT NULL,
    variants jsonb NOT NULL,
    repeat integer NOT NULL,
    budget jsonb NOT NULL,
    concurrency integer NOT NULL,
    priority integer NOT NULL,
    state text NOT NULL DEFAULT 'running',
    open boolean NOT NULL DEFAULT true,
    actor text NOT NULL,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    shadow_id text,
    grows boolean NOT NULL DEFAULT false,
    CONSTRAINT ck_evaluations_state CHECK (state IN ('running', 'finished', 'cancelled', 'budget_spent')),
    CONSTRAINT pk_evaluations PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_evaluations_list ON evaluations (tenant_id, created_at DESC, id DESC);
CREATE INDEX ix_evaluations_open ON evaluations (created_at) WHERE open;
CREATE INDEX ix_evaluations_shadow ON evaluations (shadow_id) WHERE shadow_id IS NOT NULL;

CREATE TABLE evaluation_runs (
    evaluation_id text NOT NULL,
    repetition integer NOT NULL,
    case_number integer NOT NULL,
    variant_number integer NOT NULL,
    tenant_id text NOT NULL,
    state text NOT NULL DEFAULT 'pending',
    job_id text,
    success boolean,
    cause text,
    detail text,
    turns integer,
    tokens bigint,
    cost_usd double precision,
    seconds double precision,
    CONSTRAINT ck_evaluation_runs_state CHECK (state IN ('pending', 'running', 'finished', 'skipped')),
    CONSTRAINT pk_evaluation_runs PRIMARY KEY (evaluation_id, repetition, case_number, variant_number, tenant_id),
    CONSTRAINT fk_evaluation_runs_evaluation_id_evaluations_tenant
        FOREIGN KEY (evaluation_id, tenant_id) REFERENCES evaluations (id, tenant_id) ON DELETE CASCADE
);

CREATE TABLE shadows (
    id text NOT NULL,
    tenant_id text NOT NULL,
    kind text NOT NULL,
    model text,
    prompt text,
    share double precision NOT NULL,
    tokens_per_day bigint NOT NULL,
    state text NOT NULL DEFAULT 'running',
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_id text NOT NULL DEFAULT '',
    waiting jsonb NOT NULL DEFAULT '[]',
    passed_over jsonb NOT NULL DEFAULT '{}',
    actor text NOT NULL,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stopped_at timestamptz,
    CONSTRAINT ck_shadows_state CHECK (state IN ('running', 'stopped')),
    CONSTRAINT pk_shadows PRIMARY KEY (id, tenant_id)
);
CREATE INDEX ix_shadows_list ON shadows (tenant_id, created_at DESC, id DESC);
CREATE INDEX ix_shadows_running ON shadows (id) WHERE state = 'running';


-- Flows
-- -----

CREATE TABLE flows (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    nodes_count integer NOT NULL,
    edges_count integer NOT NULL,
    snapshot_version bigint NOT NULL,
    snapshot_bytes bigint NOT NULL,
    tail_bytes bigint NOT NULL DEFAULT '0',
    notes jsonb,
    conversation_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_flows PRIMARY KEY (id, tenant_id)
) WITH (fillfactor = 80);
CREATE INDEX ix_flows_conversation ON flows (conversation_id);
CREATE INDEX ix_flows_list ON flows (tenant_id, created_at DESC, id DESC);
CREATE INDEX ix_flows_name ON flows (tenant_id, name, created_at);

CREATE TABLE flow_versions (
    flow_id text NOT NULL,
    version bigint NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    origin text NOT NULL,
    name text,
    operations bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_flow_versions PRIMARY KEY (flow_id, version, tenant_id),
    CONSTRAINT fk_flow_versions_flow_id_flows_tenant
        FOREIGN KEY (flow_id, tenant_id) REFERENCES flows (id, tenant_id) ON DELETE CASCADE
);

CREATE TABLE flow_snapshots (
    flow_id text NOT NULL,
    version bigint NOT NULL,
    document bytea NOT NULL,
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_flow_snapshots PRIMARY KEY (flow_id, version, tenant_id),
    CONSTRAINT fk_flow_snapshots_flow_id_flows_tenant
        FOREIGN KEY (flow_id, tenant_id) REFERENCES flows (id, tenant_id) ON DELETE CASCADE
);

CREATE TABLE flow_change_sets (
    flow_id text NOT NULL,
    seq bigint NOT NULL,
    version bigint NOT NULL,
    base_version bigint NOT NULL,
    actor text NOT NULL,
    origin text NOT NULL,
    summary text NOT NULL,
    moves_only boolean NOT NULL,
    undone_at bigint,
    forward bytea NOT NULL,
    inverse bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_flow_change_sets PRIMARY KEY (flow_id, seq, tenant_id),
    CONSTRAINT fk_flow_change_sets_flow_id_flows_tenant
        FOREIGN KEY (flow_id, tenant_id) REFERENCES flows (id, tenant_id) ON DELETE CASCADE
);

CREATE TABLE flow_proposals (
    id text NOT NULL,
    flow_id text NOT NULL,
    base_version bigint NOT NULL,
    state text NOT NULL,
    actor text NOT NULL,
    summary text NOT NULL,
    forward bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_flow_proposals PRIMARY KEY (id, tenant_id),
    CONSTRAINT fk_flow_proposals_flow_id_flows_tenant
        FOREIGN KEY (flow_id, tenant_id) REFERENCES flows (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_flow_proposals_flow_id_created_at ON flow_proposals (flow_id, created_at);


-- Search
-- ------

CREATE TABLE collections (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    tables jsonb NOT NULL,
    embedding text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_collections PRIMARY KEY (id, tenant_id),
    CONSTRAINT uq_collections_tenant_id_name UNIQUE (tenant_id, name)
);

-- The unique index without the tenant is retired.
CREATE TABLE collection_tables (
    collection_id text NOT NULL,
    name text NOT NULL,
    fingerprint text NOT NULL,
    thresholds jsonb NOT NULL,
    records integer NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_collection_tables PRIMARY KEY (collection_id, name, tenant_id),
    CONSTRAINT fk_collection_tables_collection_id_collections_tenant
        FOREIGN KEY (collection_id, tenant_id) REFERENCES collections (id, tenant_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ux_collection_tables_before ON collection_tables (collection_id, name);

-- What the search worker has yet to remove.
CREATE TABLE dropped_collections (
    collection_id text NOT NULL,
    dropped_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_dropped_collections PRIMARY KEY (collection_id)
);

-- The unique index without the tenant is retired.
CREATE TABLE search_rewrites (
    collection_id text NOT NULL,
    name text NOT NULL,
    wording_sha256 text NOT NULL,
    wording text NOT NULL,
    rewritten text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tenant_id text NOT NULL DEFAULT '',
    CONSTRAINT pk_search_rewrites PRIMARY KEY (collection_id, name, wording_sha256, tenant_id),
    CONSTRAINT fk_search_rewrites_collection_id_collections_tenant
        FOREIGN KEY (collection_id, tenant_id) REFERENCES collections (id, tenant_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ux_search_rewrites_before ON search_rewrites (collection_id, name, wording_sha256);

CREATE TABLE search_attempts (
    job_id text NOT NULL,
    number integer NOT NULL,
    tenant_id text NOT NULL,
    collection_id text NOT NULL,
    strategy text NOT NULL,
    reasoning text NOT NULL,
    user_message text NOT NULL,
    queries jsonb NOT NULL,
    gain integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_search_attempts PRIMARY KEY (job_id, number, tenant_id),
    CONSTRAINT fk_search_attempts_job_id_jobs_tenant
        FOREIGN KEY (job_id, tenant_id) REFERENCES jobs (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_search_attempts_collection_id ON search_attempts (collection_id);


-- Stacks
-- ------

CREATE TABLE stack_definitions (
    tenant_id text NOT NULL,
    version integer NOT NULL,
    yaml text NOT NULL,
    definitions jsonb NOT NULL,
    actor text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    note text,
    CONSTRAINT pk_stack_definitions PRIMARY KEY (tenant_id, version)
);

CREATE TABLE stack_sightings (
    tenant_id text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    job_id text NOT NULL,
    root text NOT NULL,
    source text NOT NULL,
    name text NOT NULL,
    confidence double precision NOT NULL,
    resembles text,
    files jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_stack_sightings PRIMARY KEY (tenant_id, kind, id, job_id, root),
    CONSTRAINT fk_stack_sightings_job_id_jobs_tenant
        FOREIGN KEY (job_id, tenant_id) REFERENCES jobs (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_stack_sightings_job_id ON stack_sightings (job_id);

CREATE TABLE stack_decisions (
    tenant_id text NOT NULL,
    kind text NOT NULL,
    id text NOT NULL,
    state text NOT NULL,
    actor text,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT ck_stack_decisions_state CHECK (state IN ('promoted', 'dismissed')),
    CONSTRAINT pk_stack_decisions PRIMARY KEY (tenant_id, kind, id)
);

CREATE TABLE stack_results (
    tenant_id text NOT NULL,
    identity text NOT NULL,
    job_id text NOT NULL,
    warnings jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_stack_results PRIMARY KEY (tenant_id, identity),
    CONSTRAINT fk_stack_results_job_id_jobs_tenant
        FOREIGN KEY (job_id, tenant_id) REFERENCES jobs (id, tenant_id) ON DELETE CASCADE
);
CREATE INDEX ix_stack_results_job_id ON stack_results (job_id);
CREATE INDEX ix_stack_results_tenant_id_created_at ON stack_results (tenant_id, created_at);


-- Functions: the turn of each tenant, heads of conversations, and counts
-- ----------------------------------------------------------------------

-- They run as the owner of the tables: whoever submits a job may not write turns. Every row is found by an index,
-- whatever the statistics say: a queue can grow from zero to a million rows in a minute.

-- A tenant that was idle continues where the others are (start-time fair queueing), not where it stopped. The key-
-- share lock lets submits pass each other and keeps a claim from clearing the flag before they are committed.
CREATE FUNCTION job_ready(wanted text, tenant text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
BEGIN
    PERFORM 1 FROM job_turns t WHERE t.kind = wanted AND t.tenant_id = tenant AND t.ready FOR KEY SHARE;
    IF FOUND THEN RETURN; END IF;
    INSERT INTO job_turns AS mine (kind, tenant_id, turn) VALUES (wanted, tenant, coalesce(
        (SELECT turn FROM job_turns t WHERE t.kind = wanted AND t.ready ORDER BY turn LIMIT 1),
        (SELECT turn FROM job_turns t WHERE t.kind = wanted ORDER BY turn DESC LIMIT 1), 0))
    ON CONFLICT (kind, tenant_id) DO UPDATE SET ready = true, turn = greatest(mine.turn, excluded.turn);
END $$;

-- By a range, and so in the order of one index: by an equality the planner may walk the primary key instead. The next
-- job may be cancelled meanwhile: then the one after it is next.
CREATE FUNCTION job_promote(conversation text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
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
END $$;

-- A conversation that this transaction has created cannot be known to another one. For any other, submits take turns;
-- and the job that the new one waits for cannot end before this transaction: its end would not see whom to promote. It
-- is found in the order of one index, as in job_promote: after a vacuum a table may be estimated at zero rows, many
-- indexes then cost the same, and the planner took one of tenants and states, and read all of it.
CREATE FUNCTION jobs_added() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_sort = off AS $$
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
END $$;
CREATE TRIGGER jobs_added AFTER INSERT ON jobs REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_added();

CREATE FUNCTION jobs_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
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
END $$;
CREATE TRIGGER jobs_moved AFTER UPDATE OF state ON jobs
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION jobs_moved();

CREATE FUNCTION jobs_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
BEGIN
    INSERT INTO job_deltas (kind, tenant_id, queued, running)
    SELECT kind, tenant_id, -count(*) FILTER (WHERE state = 'queued'), -count(*) FILTER (WHERE state = 'running')
    FROM removed WHERE state IN ('queued', 'running') GROUP BY kind, tenant_id;
    PERFORM job_promote(r.conversation_id) FROM removed r WHERE r.state IN ('queued', 'running') AND r.head;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_removed();

CREATE FUNCTION jobs_emptied() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
BEGIN
    DELETE FROM job_turns;
    DELETE FROM job_counts;
    DELETE FROM job_deltas;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_emptied AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_emptied();


-- Functions: claims
-- -----------------

CREATE FUNCTION job_to_claim(wanted text, tenant text, most bigint) RETURNS text
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    chosen text;
BEGIN
    IF most > 0 AND (SELECT count(*) FROM jobs r WHERE r.state = 'running' AND r.tenant_id = tenant
                     AND r.kind = wanted) >= most THEN
        RETURN NULL;
    END IF;
    SELECT j.id INTO chosen FROM jobs j
    WHERE CASE WHEN j.head THEN j.state END = 'queued' AND j.kind = wanted AND j.tenant_id = tenant AND j.run_at <= clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.tenant_id = j.tenant_id
                      AND r.conversation_id = j.conversation_id)
    ORDER BY j.priority DESC, j.id LIMIT 1 FOR NO KEY UPDATE OF j SKIP LOCKED;
    RETURN chosen;
END $$;

-- The tenant whose turn is the lowest is served. A row of job_turns that another claim holds is left to it at first:
-- that tenant is being served. Only when no other tenant has anything are those tried too, without their rows: so one
-- tenant's claims do not wait for each other, unless it has a limit, which only one that holds the row can keep;
-- whoever holds a row waits for no other. The flag is cleared under a lock that no submit shares, after another check.
--
-- Retired: `claim_jobs` replaces it.
CREATE FUNCTION claim_job(wanted text, worker text, lease double precision, cap bigint, digest text) RETURNS SETOF jobs
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    place record;
    most bigint;
    share bigint;
    chosen text;
    busy text[] := '{}';
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
                AND NOT EXISTS (SELECT 1 FROM jobs j WHERE CASE WHEN j.head THEN j.state END = 'queued' AND j.kind = wanted
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
END $$;

-- Up to `most` jobs of a tenant that may be claimed, locked. It runs under the settings of its caller.
CREATE FUNCTION jobs_to_claim(wanted text, tenant text, cap bigint, most bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    chosen text[];
BEGIN
    IF cap > 0 THEN
        most := least(most, cap - (SELECT count(*) FROM jobs r WHERE r.state = 'running' AND r.tenant_id = tenant
                                   AND r.kind = wanted));
    END IF;
    SELECT array_agg(id) INTO chosen FROM (
        SELECT j.id FROM jobs j
        WHERE CASE WHEN j.head THEN j.state END = 'queued' AND j.kind = wanted AND j.tenant_id = tenant AND j.run_at <= clock_timestamp()
          AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.tenant_id = j.tenant_id
                          AND r.conversation_id = j.conversation_id)
        ORDER BY j.priority DESC, j.id LIMIT greatest(most, 0) FOR NO KEY UPDATE OF j SKIP LOCKED) AS claimable;
    RETURN coalesce(chosen, '{}');
END $$;

-- As claim_job, for as many jobs as there are digests. A tenant is served until its turn is behind the next one's.
-- When the turn returns to a tenant that was served before, the call ends: the caller calls again, and the order is
-- right.
CREATE FUNCTION claim_jobs(wanted text, worker text, lease double precision, cap bigint, digests text[]) RETURNS SETOF jobs
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
        PERFORM 1 FROM jobs j WHERE CASE WHEN j.head THEN j.state END = 'queued' AND j.kind = wanted AND j.tenant_id = place.tenant_id
            ORDER BY j.priority DESC, j.id LIMIT 1;
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
    RETURN QUERY UPDATE jobs j SET state = 'running', attempt = j.attempt + 1, fence = j.fence + 1, worker_id = worker,
        lease_until = clock_timestamp() + make_interval(secs => lease), started_at = clock_timestamp(),
        last_seq = j.last_seq + 1, model_digest = digests[array_position(chosen, j.id)], alone = false
    WHERE j.id = ANY(chosen) RETURNING j.*;
END $$;

-- The first 10,000 queued jobs of a kind and tenant, and how many go before each.
CREATE FUNCTION job_places(wanted text, tenant text) RETURNS TABLE (id text, ahead bigint)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_sort = off AS $$
    SELECT id, row_number() OVER (ORDER BY priority DESC, id) - 1 FROM (
        SELECT j.id, j.priority FROM jobs j WHERE j.state = 'queued' AND j.kind = wanted AND j.tenant_id = tenant
        ORDER BY j.priority DESC, j.id LIMIT 10000) AS queue
$$;


-- Functions: days of events
-- -------------------------

-- A service may have a day added or dropped, and nothing else. Locks are waited for briefly, because whoever waits for
-- one of these holds up every write behind it; the caller tries again later.

-- The lowest id that a job submitted at a moment may have: UUIDv7 begins with milliseconds since 1970.
CREATE FUNCTION job_id_at(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(digits, 8) || '-' || right(digits, 4)
    FROM (SELECT lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') AS digits) AS hex
$$;

-- Each partition except the default one: ids from `from_id` (null: the lowest of all) up to and without `to_id`.
CREATE FUNCTION job_event_partitions() RETURNS TABLE (name text, from_id text, to_id text)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT relname, substring(bound FROM 'FROM \(''([^'']*)''\)'), substring(bound FROM 'TO \(''([^'']*)''\)')
    FROM (SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid) AS bound
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'job_events'::regclass) AS bounds
    WHERE bound <> 'DEFAULT' ORDER BY 3
$$;

CREATE FUNCTION job_ids_between(first text, past text) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    PERFORM 1 FROM jobs j WHERE j.id >= first AND j.id < past ORDER BY j.id LIMIT 1;
    RETURN FOUND;
END $$;

-- CREATE TABLE .. PARTITION OF would lock all of job_events: ATTACH locks the default partition alone and scans it,
-- and it is usually empty. A day of which it holds events, as after a week without a reconciler, stays in it.
CREATE FUNCTION assay_add_event_days(ahead integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET enable_seqscan = off
SET enable_bitmapscan = off SET lock_timeout = '100ms' AS $$
DECLARE
    today timestamptz := date_trunc('day', statement_timestamp(), 'UTC');
    first text;
    past text;
    added integer := 0;
BEGIN
    LOCK TABLE ONLY job_events IN SHARE UPDATE EXCLUSIVE MODE;  -- others that add or drop take turns
    FOR number IN 0 .. least(ahead, 31) LOOP
        first := job_id_at(today + number * interval '1 day');
        past := job_id_at(today + (number + 1) * interval '1 day');
        CONTINUE WHEN EXISTS (
            SELECT 1 FROM job_event_partitions() p WHERE coalesce(p.from_id, '') < past AND p.to_id > first);
        CONTINUE WHEN EXISTS (SELECT 1 FROM job_events_default d WHERE d.job_id >= first AND d.job_id < past);
        EXECUTE format('CREATE TABLE %I (LIKE job_events INCLUDING ALL)',
            'job_events_' || to_char((today + number * interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD'));
        EXECUTE format('ALTER TABLE job_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            'job_events_' || to_char((today + number * interval '1 day') AT TIME ZONE 'UTC', 'YYYYMMDD'), first, past);
        added := added + 1;
    END LOOP;
    RETURN added;
END $$;

-- No one can submit a job while job_events is locked, so what the second check does not find cannot come any more. The
-- first one is for what deletion has left in the index: whoever reads first passes over it slowly.
CREATE FUNCTION assay_drop_event_days(partition text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET enable_seqscan = off
SET enable_bitmapscan = off SET lock_timeout = '100ms' AS $$
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
END $$;

-- Events go with their job, whoever deletes it. Only retention says from which id on it will drop whole days instead;
-- the default partition is never dropped.
CREATE FUNCTION jobs_events_removed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
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
END $$;
CREATE TRIGGER jobs_events_removed AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_events_removed();

CREATE FUNCTION jobs_events_emptied() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    TRUNCATE job_events;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_events_emptied AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_events_emptied();

REVOKE ALL ON FUNCTION assay_add_event_days(integer), assay_drop_event_days(text) FROM PUBLIC;

-- Today and tomorrow belong to the first partition; the days after them have their own.
DO $$
DECLARE
    past text := job_id_at(date_trunc('day', statement_timestamp(), 'UTC') + interval '2 days');
BEGIN
    EXECUTE format('ALTER TABLE job_events ATTACH PARTITION job_events_first FOR VALUES FROM (MINVALUE) TO (%L)', past);
END $$;
SELECT assay_add_event_days(7);


-- Functions: marks of jobs
-- ------------------------

-- A job without labels, or one that succeeded, pays for a condition and nothing else.

-- What a mark is of is in its hash. Two that collide are distinguished by the job's row, which is read anyway.
CREATE FUNCTION job_mark(name text, value text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT hashtextextended(name || chr(31) || value, 0) $$;

CREATE FUNCTION jobs_labelled() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT NEW.tenant_id, job_mark('label', key || '=' || value), NEW.created_at, NEW.id
    FROM jsonb_each_text(NEW.labels) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_labelled AFTER INSERT ON jobs
    FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION jobs_labelled();

CREATE FUNCTION jobs_failed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    VALUES (NEW.tenant_id, job_mark('error', NEW.error->>'code'), NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_failed AFTER UPDATE OF error ON jobs
    FOR EACH ROW WHEN (NEW.error->>'code' IS NOT NULL) EXECUTE FUNCTION jobs_failed();

CREATE FUNCTION jobs_warned() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    VALUES (NEW.tenant_id, job_mark('warned', ''), NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_warned AFTER INSERT OR UPDATE OF warnings ON jobs
    FOR EACH ROW WHEN (NEW.warnings <> '[]') EXECUTE FUNCTION jobs_warned();

CREATE FUNCTION llm_called() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    c llm_calls := NEW;
BEGIN
    INSERT INTO job_marks (tenant_id, mark, created_at, job_id)
    SELECT j.tenant_id, mark, j.created_at, j.id FROM jobs j CROSS JOIN (VALUES
    (job_mark('provider', c.served_provider)), (job_mark('model', c.served_model)),
    (job_mark('prompt', c.prompt_key || '@' || c.prompt_version)),
    (CASE WHEN c.reason = 'failover' AND c.outcome = 'ok' THEN job_mark('failed_over', '') END)) AS marks (mark)
    WHERE j.id = c.job_id AND mark IS NOT NULL ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER llm_called AFTER INSERT ON llm_calls
    FOR EACH ROW WHEN (NEW.job_id IS NOT NULL) EXECUTE FUNCTION llm_called();

CREATE FUNCTION jobs_unmarked() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM job_marks WHERE job_id = ANY(ARRAY(SELECT id FROM removed));
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_unmarked AFTER DELETE ON jobs REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_unmarked();

CREATE FUNCTION jobs_truncated() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM job_marks;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_truncated AFTER TRUNCATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION jobs_truncated();


-- Functions: tenants
-- ------------------

CREATE FUNCTION audit_log_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'rows of the audit log are only added'; END $$;
CREATE TRIGGER audit_log_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse_change();

-- Delete up to `most` rows of each table of a tenant, as the owner of the tables, so that no service needs the right
-- to delete everything. Rows that go with a parent are left to their foreign key.
CREATE FUNCTION assay_delete_tenant(doomed text, most integer) RETURNS bigint
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
    END $$;
REVOKE ALL ON FUNCTION assay_delete_tenant(text, integer) FROM PUBLIC;


-- Retired functions
-- -----------------

-- A row of a table that once had no tenant gets its parent's when it is written without one.
CREATE FUNCTION tenant_of_collections() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
        BEGIN
            NEW.tenant_id := coalesce((SELECT p.tenant_id FROM collections p WHERE p.id = NEW.collection_id), '');
            RETURN NEW;
        END $$;

CREATE FUNCTION tenant_of_flows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
        BEGIN
            NEW.tenant_id := coalesce((SELECT p.tenant_id FROM flows p WHERE p.id = NEW.flow_id), '');
            RETURN NEW;
        END $$;

CREATE FUNCTION tenant_of_jobs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
        BEGIN
            NEW.tenant_id := coalesce((SELECT p.tenant_id FROM jobs p WHERE p.id = NEW.job_id), '');
            RETURN NEW;
        END $$;

CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON collection_tables
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_collections();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON flow_change_sets
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_flows();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON flow_proposals
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_flows();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON flow_snapshots
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_flows();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON flow_versions
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_flows();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON job_events
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_jobs();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON job_forms
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_jobs();
CREATE TRIGGER tenant_of_parent BEFORE INSERT OR UPDATE ON search_rewrites
    FOR EACH ROW WHEN (NEW.tenant_id = '') EXECUTE FUNCTION tenant_of_collections();

-- Copies whichever of `rung_at` and `notified_at` a statement wrote to the other.
CREATE FUNCTION jobs_copy_notified_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.notified_at := coalesce(NEW.notified_at, NEW.rung_at);
        NEW.rung_at := NEW.notified_at;
    ELSIF NEW.notified_at IS DISTINCT FROM OLD.notified_at THEN
        NEW.rung_at := NEW.notified_at;
    ELSE
        NEW.notified_at := NEW.rung_at;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER jobs_copy_notified_at BEFORE INSERT OR UPDATE OF rung_at, notified_at ON jobs
    FOR EACH ROW EXECUTE FUNCTION jobs_copy_notified_at();
