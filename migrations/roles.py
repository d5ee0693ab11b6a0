"""The Postgres role of each service: the tables and statements that it needs. Every upgrade applies this table.

A role that may log in gets its password with ``allow_login``; the owner of the tables (the user that migrates) is not
a service's role. A table that is not named here is open to every role: name it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the supervisor reads the table too, and stays small
    from sqlalchemy import Connection

log = logging.getLogger(__name__)

PREFIX = "assay_"
VARIABLE = "ASSAY_DATABASE_PASSWORD_"
_READ, _ADD, _CHANGE, _REMOVE = "SELECT", "INSERT", "UPDATE", "DELETE"
_ALL = (_READ, _ADD, _CHANGE, _REMOVE)
Grants = Mapping[str, tuple[str, ...]]  #: table -> statements

#: Claims and completes jobs, reports, keeps files, calls models.
_WORKER: Grants = {
    "conversations": (_READ, _ADD, _CHANGE),
    "files": (_READ, _ADD),
    "job_events": (_READ, _ADD),
    "job_forms": (_READ, _ADD),
    "job_turns": (_READ, _CHANGE),
    "jobs": (_READ, _CHANGE),
    "llm_calls": (_READ, _ADD),
    "llm_texts": (_READ, _ADD),
    "messages": (_READ, _ADD),
    "model_chains": (_READ,),
    "model_endpoints": (_READ,),
    "model_vendors": (_READ,),
    "prompt_labels": (_READ,),
    "prompt_versions": (_READ,),
    "tenant_limits": (_READ,),
    "tenant_models": (_READ,),
    "workers": _ALL,
}
_FLOWS: Grants = dict.fromkeys(("flows", "flow_versions", "flow_snapshots", "flow_change_sets", "flow_proposals"), _ALL)
_STACKS: Grants = dict.fromkeys(("stack_definitions", "stack_sightings", "stack_decisions", "stack_results"), _ALL)
_SEARCH: Grants = dict.fromkeys(
    ("collections", "collection_tables", "dropped_collections", "search_attempts", "search_rewrites"), _ALL
)
_OF_SERVICES: Mapping[str, Grants] = {
    "gateway": {
        **_FLOWS,
        **_STACKS,
        **_SEARCH,
        "api_keys": (_READ, _ADD, _CHANGE),
        "audit_log": (_READ, _ADD),
        "batches": (_READ, _ADD),
        "conversations": _ALL,
        "evaluation_runs": (_READ, _ADD, _CHANGE),
        "evaluations": (_READ, _ADD, _CHANGE),
        "files": _ALL,
        "idempotency_keys": (_READ, _ADD, _CHANGE),
        "job_counts": (_READ,),
        "job_deltas": (_READ,),
        "job_events": (_READ, _ADD),
        "job_forms": (_READ,),
        "job_marks": (_READ,),
        "jobs": _ALL,
        "llm_calls": (_READ, _ADD),
        "llm_texts": (_READ, _ADD),
        "messages": (_READ, _ADD),
        "model_chains": _ALL,
        "model_endpoints": _ALL,
        "model_vendors": _ALL,
        "prompt_gates": (_READ, _ADD),
        "prompt_labels": _ALL,
        "prompt_versions": (_READ, _ADD),
        "session_codes": (_READ, _ADD, _REMOVE),
        "shadows": (_READ, _ADD, _CHANGE),
        "tenant_deletions": (_READ, _ADD),
        "tenant_limits": _ALL,
        "tenant_models": _ALL,
        "uploads": _ALL,
        "webhook_deliveries": (_READ,),
        "webhook_secrets": (_READ, _ADD, _REMOVE),
        "workers": (_READ,),
    },
    "broker": {
        "jobs": (_READ,),
        "llm_calls": (_READ, _ADD),
        "llm_texts": (_READ, _ADD),
        "model_chains": (_READ,),
        "model_endpoints": (_READ,),
        "model_vendors": (_READ,),
        "prompt_labels": (_READ,),
        "prompt_versions": (_READ,),
        "tenant_limits": (_READ,),
        "tenant_models": (_READ,),
    },
    "execution": _WORKER,
    "search": {**_WORKER, **_SEARCH},
    "flows": {**_WORKER, **_FLOWS},
    "stacks": {**_WORKER, **_STACKS},
    "reconciler": {
        "conversations": (_READ, _ADD, _REMOVE),
        "evaluation_runs": (_READ, _ADD, _CHANGE),
        "evaluations": (_READ, _ADD, _CHANGE),
        "files": (_READ, _REMOVE),
        "flows": (_READ,),
        "idempotency_keys": (_READ, _CHANGE, _REMOVE),  # FOR UPDATE, which passes over those in use
        "job_counts": (_READ, _ADD, _CHANGE),
        "job_deltas": (_READ, _ADD, _REMOVE),
        "job_events": (_READ, _ADD, _REMOVE),
        "job_turns": (_READ,),
        "jobs": (_READ, _ADD, _CHANGE, _REMOVE),
        "llm_calls": (_READ, _REMOVE),
        "llm_texts": (_READ, _REMOVE),
        "messages": (_READ,),
        "shadows": (_READ, _CHANGE),
        "tenant_deletions": (_READ, _REMOVE),
        "webhook_deliveries": (_READ, _ADD),
        "webhook_secrets": (_READ, _ADD),
        "workers": (_READ, _REMOVE),
    },
}
SERVICES = {name: {"alembic_version": (_READ,), **grants} for name, grants in _OF_SERVICES.items()}
#: The kinds of jobs that each service works on; kinds of plugins are open to every worker.
KINDS_OF: Mapping[str, tuple[str, ...]] = {
    "execution": ("execute", "transform", "document"),
    "search": ("search", "ingest", "records"),
    "flows": ("flow",),
    "stacks": ("detect",),
}
#: Whose work is that of another service: the broker calls models for the jobs that execution runs.
_WORKS_FOR = {"broker": "execution"}
#: Where rows have a job: it must be of the service's own kinds.
_OF_JOBS = ("job_events", "job_forms")
#: Tables of which a worker's role sees and changes the rows of its own work only.
NARROWED = (
    "jobs", "job_turns", *_OF_JOBS, "files", "conversations", "messages", "llm_calls", "llm_texts", "workers",
)  # fmt: skip
#: As in ``shared.db.CONNECT``.
_SETTINGS = {
    "statement_timeout": "30000",
    "idle_in_transaction_session_timeout": "60000",
    "timezone": "'UTC'",
    "plan_cache_mode": "force_generic_plan",
}
#: Functions that run as the owner of the tables and are called by statements and policies, with who may execute them.
#: The others of that kind are called by triggers and by each other, for which a role needs no right.
CALLED: Mapping[str, tuple[str, ...]] = {
    "job_ready(text, text)": ("reconciler",),
    "assay_delete_tenant(text, integer)": ("reconciler",),
    "assay_add_event_days(integer)": ("reconciler",),
    "assay_drop_event_days(text)": ("reconciler",),
    "assay_works(text, text, text[])": (*KINDS_OF, *_WORKS_FOR),
    "assay_talks(text, text, text[])": (*KINDS_OF, *_WORKS_FOR),
    "assay_serves(text, text[])": (*KINDS_OF, *_WORKS_FOR),
}
#: Read before it is known whose request it is; and the log, whose every row follows from the one before.
_UNGUARDED = frozenset({"api_keys", "audit_log"})


def apply(connection: Connection) -> None:
    """Create the roles and grant each what the table lists; without the right to create roles, only log a warning."""
    may = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    if not connection.exec_driver_sql(may).scalar():
        log.warning("no role is made: the user that migrates may not create roles")
        return
    # Partitions are used through their table alone: no role gets a right to one.
    named_here = """
        SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
          AND relnamespace = current_schema()::regnamespace
    """
    tables = set(connection.exec_driver_sql(named_here).scalars())
    unnamed = tables - {table for grants in SERVICES.values() for table in grants}
    _run(connection, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # as PostgreSQL 15 and newer begin
    for service, grants in SERVICES.items():
        role = PREFIX + service
        _create(connection, role)
        _settle(connection, role)
        _run(connection, f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}")
        _run(connection, f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
        wanted = {**grants, **dict.fromkeys(unnamed, _ALL)}
        for statement in _ALL:
            named = sorted(table for table, statements in wanted.items() if statement in statements and table in tables)
            if named:
                _run(connection, f"GRANT {statement} ON {', '.join(named)} TO {role}")
    _restrict_functions(connection)
    for function, callers in CALLED.items():
        if connection.exec_driver_sql("SELECT to_regprocedure(%s)", (function,)).scalar() is not None:
            roles = ", ".join(PREFIX + service for service in callers)
            _run(connection, f"GRANT EXECUTE ON FUNCTION {function} TO {roles}")
    _guard(connection)
    _narrow(connection)


def _restrict_functions(connection: Connection) -> None:
    """Let roles execute what runs with their own rights, and nothing that runs as the owner; nor make temporary tables.

    A trigger of a role's own table could call a function that deletes other tenants' rows.
    """
    _run(connection, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC")
    _run(connection, "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
    temporary = "REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC"
    _run(connection, f"DO $$ BEGIN EXECUTE format('{temporary}', current_database()); END $$")
    with_own_rights = """
        SELECT oid::regprocedure::text FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND NOT prosecdef AND prokind IN ('f', 'w')
    """
    functions = ", ".join(sorted(connection.exec_driver_sql(with_own_rights).scalars()))
    services = ", ".join(f"{PREFIX}{service}" for service in SERVICES)
    if functions:
        _run(connection, f"GRANT EXECUTE ON FUNCTION {functions} TO {services}")
    as_owner = """
        SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
    """
    if definer := ", ".join(sorted(connection.exec_driver_sql(as_owner).scalars())):
        _run(connection, f"REVOKE EXECUTE ON FUNCTION {definer} FROM {services}")


def _settle(connection: Connection, role: str) -> None:
    """Set a service's connection settings (``shared.db.CONNECT``) on its role, for connections that a pooler opens."""
    for name, value in _SETTINGS.items():
        statement = f"ALTER ROLE {role} IN DATABASE %I SET {name} = {value}"
        _run(connection, f"DO $$ BEGIN EXECUTE format($format${statement}$format$, current_database()); END $$")


def _guard(connection: Connection) -> None:
    """Row-level security, a second wall behind the conditions of the statements.

    The gateway acts for one tenant at a time (the setting ``assay.tenant`` of its session) and sees no row of another,
    and nothing at all when it has not said for whom. Workers claim jobs of all tenants.
    """
    unguarded = """
        SELECT a.attrelid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE a.attname = 'tenant_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND c.relnamespace = current_schema()::regnamespace AND NOT c.relrowsecurity
    """
    for table in sorted(set(connection.exec_driver_sql(unguarded).scalars()) - _UNGUARDED):
        _run(
            connection,
            f"""
            CREATE POLICY tenant ON {table} USING (
                current_user <> '{PREFIX}gateway' OR current_setting('assay.tenant', true) IN (tenant_id, '*'))
            """,
        )
        _run(connection, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def _narrow(connection: Connection) -> None:
    """Hold each worker to the work of its own kinds, with policies beside those of the tenants.

    A policy's name holds the hash of what it says: one that is there is left alone, as making one locks the table.
    """
    if connection.exec_driver_sql("SELECT to_regprocedure('assay_serves(text, text[])')").scalar() is None:
        return  # a database on its way to the revision that has it
    query = "SELECT tablename || ' ' || policyname FROM pg_policies WHERE policyname LIKE 'own~_%' ESCAPE '~'"
    there = set(connection.exec_driver_sql(query.replace("%", "%%")).scalars())
    wanted = {
        f"{policy.table} {policy.name}": policy for service in (*KINDS_OF, *_WORKS_FOR) for policy in _own(service)
    }
    for dropped in sorted(there - wanted.keys()):
        table, name = dropped.split()
        _run(connection, f"DROP POLICY {name} ON {table}")
    if not connection.exec_driver_sql("SELECT relrowsecurity FROM pg_class WHERE relname = 'workers'").scalar():
        _run(connection, "CREATE POLICY everyone ON workers USING (true)")
        _run(connection, "ALTER TABLE workers ENABLE ROW LEVEL SECURITY")
    for policy in (wanted[name] for name in sorted(wanted.keys() - there)):
        _run(connection, policy.statement)


class _Policy(NamedTuple):
    table: str
    role: str
    action: str
    condition: str

    @property
    def name(self) -> str:
        return f"own_{hashlib.sha256('|'.join(self).encode()).hexdigest()[:12]}"

    @property
    def statement(self) -> str:
        clause = "WITH CHECK" if self.action == _ADD else "USING"
        head = f"CREATE POLICY {self.name} ON {self.table} AS RESTRICTIVE FOR {self.action} TO {self.role}"
        return f"{head} {clause} ({self.condition})"


def _own(service: str) -> Iterator[_Policy]:
    """Yield what holds the role of a worker to its own work."""
    own = _WORKS_FOR.get(service, service)
    others = [name for name in KINDS_OF if name != own]
    foreign = f"'{{{','.join(sorted(kind for name in others for kind in KINDS_OF[name]))}}}'::text[]"
    of_served = f"assay_serves(tenant_id, {foreign})"
    of_job = f"assay_works(job_id, tenant_id, {foreign})"
    of_conversation = f"assay_talks(id, tenant_id, {foreign})"
    of_call = "EXISTS (SELECT FROM llm_calls c WHERE c.id = llm_texts.call_id AND c.tenant_id = llm_texts.tenant_id)"
    # Others' jobs: what is under way decides whose turn it is in a conversation, and all that a tenant stores counts.
    seen = f"kind <> ALL ({foreign}) OR state IN ('queued', 'running') OR {of_served}"
    everything = "ALL"
    conditions = [
        ("jobs", _READ, seen),
        ("jobs", _CHANGE, f"kind <> ALL ({foreign})"),
        ("job_turns", everything, f"kind <> ALL ({foreign})"),
        *((table, everything, of_job) for table in _OF_JOBS),
        ("files", _READ, of_served),
        ("files", _ADD, of_job),
        ("conversations", everything, of_conversation),
        ("messages", _READ, of_served),
        ("messages", _ADD, of_job),
        ("llm_calls", _READ, f"{of_served} OR {of_job}"),
        ("llm_calls", _ADD, of_job),
        ("llm_texts", everything, of_call),
        ("workers", everything, f"service <> ALL ('{{{','.join(sorted(others))}}}'::text[])"),
    ]
    granted = SERVICES[service]
    return (_Policy(table, PREFIX + service, action, rule) for table, action, rule in conditions if table in granted)


def allow_login(connection: Connection, passwords: Mapping[str, str]) -> None:
    """Let the services' roles log in with these passwords."""
    for service, password in passwords.items():
        quoted = connection.exec_driver_sql("SELECT quote_literal(%s)", (password,)).scalar()
        _run(connection, f"ALTER ROLE {PREFIX}{_known(service)} LOGIN PASSWORD {quoted}")


def variable_of(service: str) -> str:
    """Return the environment variable with the password of a service's role, for the migrating user."""
    return f"{VARIABLE}{service.upper()}"


def passwords_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the passwords that are set."""
    return {service: environment[variable_of(service)] for service in SERVICES if environment.get(variable_of(service))}


def _known(service: str) -> str:
    if service not in SERVICES:
        raise ValueError(f"there is no service {service!r}")
    return service


def _create(connection: Connection, role: str) -> None:
    """Create a role of the whole server, which another of its databases may have created, or be creating."""
    _run(
        connection,
        f"""
        DO $$ BEGIN CREATE ROLE {role} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$
        """,
    )


def _run(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement.replace("%", "%%"))
