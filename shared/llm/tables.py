"""The tables of the LLM layer: calls, their texts, prompts and chains."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.db import metadata

_now = func.clock_timestamp()

#: One row per attempt, failed and skipped ones included; totals of a turn or a job are sums over its rows.
llm_calls = Table(
    "llm_calls",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("job_id", Text),  # null for a test of a role's model
    Column("job_attempt", Integer, nullable=False, server_default=text("1")),  # which run of the job
    Column("at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("turn", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("requested_provider", Text, nullable=False),
    Column("requested_model", Text, nullable=False),
    Column("served_provider", Text),
    Column("served_model", Text),
    Column("reason", Text, nullable=False),  # primary | failover | retry | hedge
    Column("cause", Text),  # the fault that made this attempt necessary
    Column("outcome", Text, nullable=False),  # ok | a fault code | skipped
    Column("http_status", Integer),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cost_usd", Double),  # null when the price or the tokens are unknown, never 0 for that
    Column("prompt_key", Text),
    Column("prompt_version", Integer),
    Column("seconds", Double, nullable=False),
    Column("first_token_seconds", Double),
    Column("queue_seconds", Double),  # for which it waited for a slot of the endpoint, before it was sent
    Column("parameters", JSONB(none_as_null=True)),  # of the call: temperature, seed and so on
    Column("finish", Text),
    Column("detail", Text),  # the fault in words that are safe to show
    Column("source", Text, nullable=False),  # live | replay | scripted
    Column("request", Uuid(as_uuid=False)),  # the same for all attempts of one question; null in old rows
    Index(None, "job_id", "id"),
    Index(None, "tenant_id", "at"),
)

#: The texts of calls, where ``ASSAY_LLM_TEXTS`` keeps them.
llm_texts = Table(
    "llm_texts",
    metadata,
    Column("call_id", BigInteger, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("body", LargeBinary, nullable=False),  # shared.llm.texts
    Index(None, "at"),
    ForeignKeyConstraint(["call_id", "tenant_id"], ["llm_calls.id", "llm_calls.tenant_id"], ondelete="CASCADE"),
)

#: Immutable texts; a rollback or a reset adds a new version with an old text.
prompt_versions = Table(
    "prompt_versions",
    metadata,
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("is_default", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("actor", Text),
    Column("note", Text),  # why it was made, in a person's words
    PrimaryKeyConstraint("key", "version"),
)

#: Evaluations that versions of prompts have passed before they were used.
prompt_gates = Table(
    "prompt_gates",
    metadata,
    Column("key", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("evaluation_id", Text, nullable=False),
    Column("tenant_id", Text, nullable=False),  # whose evaluation it is
    Column("runs", Integer, nullable=False),
    Column("successes", Integer, nullable=False),
    Column("required", Double, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=_now),
    PrimaryKeyConstraint("key", "version", "evaluation_id"),
)

#: Which version a label means; ``active`` is the one that jobs use.
prompt_labels = Table(
    "prompt_labels",
    metadata,
    Column("key", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_now),
    PrimaryKeyConstraint("key", "label"),
)

#: Chains that an operator has changed; a role without a row has its default.
model_chains = Table(
    "model_chains",
    metadata,
    Column("role", Text, primary_key=True),
    Column("chain", JSONB, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("actor", Text),
)

#: Which models a tenant may use, as patterns; a tenant without a row has the installation's.
tenant_models = Table(
    "tenant_models",
    metadata,
    Column("tenant_id", Text, primary_key=True),
    Column("allowed", JSONB, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("actor", Text),
)

#: Servers of models that an operator has named; keys are never here, only the names of their variables.
model_endpoints = Table(
    "model_endpoints",
    metadata,
    Column("name", Text, primary_key=True),
    Column("settings", JSONB, nullable=False),
    Column("facts", JSONB),  # what the server was found to be, when it was last tested
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("actor", Text),
)

#: Operators' settings of the vendors' rows, and facts about the self-hosted server that replaces a vendor.
model_vendors = Table(
    "model_vendors",
    metadata,
    Column("name", Text, primary_key=True),
    Column("settings", JSONB, nullable=False),
    Column("facts", JSONB),
    Column("address", Text),  # the mark of the address and key where the facts were found
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=_now),
    Column("actor", Text),
)
