"""The prompts: immutable versions in Postgres, defaults in files, and a label that says which version is in use."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, Row, and_, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

import shared
from shared import bounded_process
from shared.bounded_process import BoundExceeded, TaskLost
from shared.contracts.models import Gate, Prompt, PromptVariables
from shared.db import writing
from shared.errors import DatabaseUnavailable, InvalidRequest, NotFound, Overloaded, PreconditionFailed
from shared.kinds import KINDS
from shared.llm import templates
from shared.llm.cached_value import Fresh
from shared.llm.chat import PromptVersion, RenderedPrompt
from shared.llm.registry import model_roles
from shared.llm.tables import prompt_gates, prompt_labels, prompt_versions
from shared.near_names import no_such

log = logging.getLogger(__name__)

_ACTIVE = "active"
_LONGEST_VARIABLES = 64_000  #: characters of JSON that go with a question
_SERVICES = Path(shared.__file__).resolve().parent.parent / "services"


def default_prompts() -> Mapping[str, str]:
    """Default texts by key: ``services/<service>/prompts/<purpose>.md`` is the prompt ``service.purpose``.

    The folder that holds ``prompts`` names the service; a kind that a plugin registers names its folder itself.
    """
    folders = [
        (folder.parent.name, folder) for pattern in ("*", "*/*") for folder in _SERVICES.glob(f"{pattern}/prompts")
    ]
    folders += [(kind.service, kind.prompts) for kind in KINDS.values() if kind.prompts is not None]
    return {key: text for service, folder in folders for key, text in _texts(service, folder).items()}


@cache
def _texts(service: str, folder: Path) -> Mapping[str, str]:
    return {f"{service}.{file.stem}": file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))}


_MAY_WRITE = text("SELECT has_table_privilege('prompt_versions', 'INSERT')")


@dataclass(frozen=True)
class Stored:
    """One version of a prompt."""

    key: str
    version: int
    text: str
    is_default: bool
    at: datetime | None = None
    actor: str | None = None
    note: str | None = None


class PromptRegistry:
    """Safe to use from many threads; without a database the files hold, as version 1."""

    def __init__(self, engine: Engine | None, files: Mapping[str, str] | None = None) -> None:
        self._engine = engine
        self._files = default_prompts() if files is None else files
        self._initial = {key: Stored(key, 1, text, True) for key, text in self._files.items()}
        self._active: Fresh[Mapping[str, Stored]] = Fresh(self._read, self._initial)
        self._synced = engine is None

    def keys(self) -> list[str]:
        return sorted(self._files)

    def refresh(self) -> None:
        """Read the prompts again when they are old; where this role may write, new files become versions."""
        self._active.get()

    def get(self, key: str) -> Prompt:
        """Return the version in use. Raises: NotFound."""
        return self._shown(self.active(key))

    def latest(self, key: str) -> Prompt:
        """Return the version in use according to the database now, for an editor. Raises: NotFound."""
        self.default(key)
        return self._shown(self._active.latest().get(key, self._initial[key]))

    def active(self, key: str) -> Stored:
        """Return the stored version in use. Raises: NotFound."""
        self.default(key)
        return self._active.get().get(key, self._initial[key])

    def versions(self, key: str, limit: int = 200) -> list[Prompt]:
        """Return the versions, newest first. Raises: NotFound."""
        self.default(key)
        if self._engine is None:
            return [self._shown(self._initial[key])]
        self.refresh()
        of_key = select(prompt_versions).where(prompt_versions.c.key == key)
        with self._engine.connect() as connection:
            rows = connection.execute(of_key.order_by(prompt_versions.c.version.desc()).limit(limit)).all()
            passed = connection.execute(select(prompt_gates).where(prompt_gates.c.key == key)).mappings().all()
            labelled = connection.execute(select(prompt_labels).where(prompt_labels.c.key == key)).all()
        gates = {row["version"]: Gate.model_validate(dict(row)) for row in passed}
        labels: dict[int, list[str]] = {}
        for row in sorted(labelled, key=lambda row: str(row.label)):
            labels.setdefault(row.version, []).extend([row.label] if row.label != _ACTIVE else [])
        return [
            self._shown(_stored(row)).model_copy(
                update={"gate": gates.get(row.version), "labels": labels.get(row.version, [])}
            )
            for row in rows
        ]

    def label(self, key: str, label: str, version: int | None) -> None:
        """Let a label mean this version; None takes it away. Raises: NotFound, InvalidRequest, DatabaseUnavailable."""
        if label == _ACTIVE:
            raise InvalidRequest(
                f"label: publish a version to make it {_ACTIVE}.", [(["body", "label"], "is not yours")]
            )
        if version is not None and self.version(key, version) is None:
            raise NotFound(f"The prompt {key} has no version {version}.")
        if self._engine is None:
            raise DatabaseUnavailable("Prompts can only be changed where there is a database.")
        self.default(key)
        with writing(self._engine) as connection:
            _lock(connection)
            if version is not None:
                _use(connection, key, version, label)
                return
            mine = and_(prompt_labels.c.key == key, prompt_labels.c.label == label)
            connection.execute(delete(prompt_labels).where(mine))

    def draft(self, key: str, text: str, actor: str | None = None, note: str | None = None) -> Prompt:
        """Make a text the newest version, and use the one before. Raises as ``save`` does."""
        self._check(key, text)
        return self._activate(key, text, actor, None, note, use=False)

    def publish(
        self, key: str, version: int, gate: Gate | None = None, tenant: str = "", expected: int | None = None
    ) -> Prompt:
        """Use a version that is there; ``gate`` is what it passed.

        Raises: NotFound, DatabaseUnavailable, PreconditionFailed when the version in use is not the expected one.
        """
        stored = self.version(key, version)
        if stored is None:
            raise NotFound(f"The prompt {key} has no version {version}.")
        if self._engine is None:
            raise DatabaseUnavailable("Prompts can only be changed where there is a database.")
        with writing(self._engine) as connection:
            _lock(connection)
            _check_used(connection, key, expected)
            _use(connection, key, version)
            if gate is not None:
                passed = insert(prompt_gates).values(key=key, version=version, tenant_id=tenant, **gate.model_dump())
                connection.execute(passed.on_conflict_do_nothing())
        self._active.expire()
        return self._shown(stored).model_copy(update={"gate": gate})

    def save(
        self, key: str, text: str, actor: str | None = None, expected: int | None = None, note: str | None = None
    ) -> Prompt:
        """Make a text the newest version, and use it; ``note`` says why.

        Raises: NotFound; PromptBroken, PromptVariableUnknown, PromptVariableMissing;
        PreconditionFailed when the version in use is not the expected one.
        """
        self._check(key, text)
        return self._activate(key, text, actor, expected, note)

    def rollback(self, key: str, version: int, actor: str | None = None, expected: int | None = None) -> Prompt:
        """Use an old text again, as a new version. Raises: NotFound, PreconditionFailed."""
        old = self.version(key, version)
        if old is None:
            raise NotFound(f"The prompt {key} has no version {version}.")
        return self._activate(key, old.text, actor, expected, f"as version {version} was")

    def reset(self, key: str, actor: str | None = None, expected: int | None = None) -> Prompt:
        """Use the file's text again, as a new version. Raises: NotFound, PreconditionFailed."""
        return self._activate(key, self.default(key), actor, expected)

    def pinned(self, version: int | None, versions: Mapping[str, int] | None = None) -> JobPrompts:
        """Return the prompts of one job; ``version`` applies to the prompts that are named like roles.

        ``versions`` applies to the prompts of these keys, whatever their names.
        """
        return JobPrompts(self, version, versions or {})

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        """Render the version in use. Raises: NotFound, PromptNotRendered."""
        return _rendered(self.active(key), variables)

    def version(self, key: str, version: int) -> Stored | None:
        """Return one version, or None. Raises: NotFound for an unknown key."""
        self.default(key)
        if self._engine is None:
            return self._initial[key] if version == 1 else None
        self._active.get()
        wanted = and_(prompt_versions.c.key == key, prompt_versions.c.version == version)
        with self._engine.connect() as connection:
            row = connection.execute(select(prompt_versions).where(wanted)).one_or_none()
        return None if row is None else _stored(row)

    def _check(self, key: str, text: str) -> None:
        """Check that a text is a valid version. Raises: NotFound; PromptBroken and its like."""
        argument: JsonValue = {"text": text, "default": self.default(key)}
        try:
            templates.answered(bounded_process.call(templates.check_template, argument, templates.TRIAL_BOUNDS))
        except TaskLost:
            raise Overloaded("The prompt could not be checked now; try again later.", retry_after=5) from None
        except BoundExceeded as exceeded:
            raise templates.too_costly(exceeded) from None

    def default(self, key: str) -> str:
        """Return the text of the prompt's file. Raises: NotFound."""
        if key not in self._files:
            raise NotFound(no_such("prompt", key, self._files))
        return self._files[key]

    def _shown(self, stored: Stored) -> Prompt:
        used = templates.variables(self._files[stored.key])
        names = PromptVariables(required=sorted(used.required), optional=sorted(used.optional))
        return Prompt(
            key=stored.key,
            text=stored.text,
            version=stored.version,
            is_default=stored.is_default,
            variables=names,
            updated_at=stored.at,
            actor=stored.actor,
            note=stored.note,
        )

    def _activate(
        self,
        key: str,
        text: str,
        actor: str | None,
        expected: int | None,
        note: str | None = None,
        *,
        use: bool = True,
    ) -> Prompt:
        if self._engine is None:
            raise DatabaseUnavailable("Prompts can only be changed where there is a database.")
        self._active.get()
        with writing(self._engine) as connection:
            _lock(connection)
            _check_used(connection, key, expected)
            stored = _add(connection, key, text, text == self._files[key], actor, note, use=use)
        self._active.expire()
        return self._shown(stored)

    def _read(self) -> Mapping[str, Stored]:
        if self._engine is None:
            return self._initial
        if not self._synced:
            self._synced = self._sync(self._engine)
        with self._engine.connect() as connection:
            used = _used(connection)
        if self._synced:
            return used
        # Until a service that may write has started, the defaults are those of this process's files.
        edited = {key: stored for key, stored in used.items() if not stored.is_default or key not in self._files}
        return {**used, **self._initial, **edited}

    def _sync(self, engine: Engine) -> bool:
        """Make versions of new files, and use them where a default was in use; False when this role may only read."""
        with engine.begin() as connection:
            if self._outdated(connection):
                if not connection.scalar(_MAY_WRITE):
                    return False
                _lock(connection)
                for key in self._outdated(connection):  # another process may have been first
                    _add(connection, key, self._files[key], True, None)
        return True

    def _outdated(self, connection: Connection) -> list[str]:
        used = _used(connection)
        outdated = {key for key, stored in used.items() if stored.is_default and stored.text != self._files.get(key)}
        return [key for key in self._files if key not in used or key in outdated]


@dataclass(frozen=True)
class JobPrompts:
    """The prompts of one job."""

    registry: PromptRegistry
    version: int | None
    versions: Mapping[str, int] = field(default_factory=dict)

    def render(self, key: str, **variables: object) -> RenderedPrompt:
        """Render the job's version. Raises: NotFound, PromptNotRendered."""
        version = self.versions.get(key, self.version if key in model_roles() else None)
        stored = None if version is None else self.registry.version(key, version)
        return _rendered(stored or self.registry.active(key), variables)


def _rendered(stored: Stored, variables: Mapping[str, object]) -> RenderedPrompt:
    version = PromptVersion(stored.key, stored.version, _plain(variables))
    return RenderedPrompt(templates.render(stored.text, variables), version)


def _plain(variables: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return the variables as JSON; empty when that is long, because every question to the broker carries it."""
    try:
        written = json.dumps(variables)
    except (TypeError, ValueError, RecursionError):
        return {}
    return json.loads(written) if len(written) <= _LONGEST_VARIABLES else {}


def _used(connection: Connection) -> dict[str, Stored]:
    on = and_(prompt_versions.c.key == prompt_labels.c.key, prompt_versions.c.version == prompt_labels.c.version)
    active = select(prompt_versions).join(prompt_labels, on).where(prompt_labels.c.label == _ACTIVE)
    return {row.key: _stored(row) for row in connection.execute(active)}


def _lock(connection: Connection) -> None:
    """Admit one writer at a time, so that version numbers only grow."""
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('assay.prompts'))"))


def _check_used(connection: Connection, key: str, expected: int | None) -> None:
    """Raise PreconditionFailed when another version than the expected one is in use."""
    if expected is None:
        return
    active = and_(prompt_labels.c.key == key, prompt_labels.c.label == _ACTIVE)
    used = connection.scalar(select(prompt_labels.c.version).where(active))
    if used != expected:
        raise PreconditionFailed(f"The prompt {key} is at version {used}, not {expected}.")


def _add(
    connection: Connection,
    key: str,
    body: str,
    is_default: bool,
    actor: str | None,
    note: str | None = None,
    *,
    use: bool = True,
) -> Stored:
    newest = connection.scalar(select(func.max(prompt_versions.c.version)).where(prompt_versions.c.key == key)) or 0
    values = {"version": newest + 1, "text": body, "is_default": is_default, "actor": actor, "note": note}
    row = connection.execute(insert(prompt_versions).values(key=key, **values).returning(prompt_versions)).one()
    if use:
        _use(connection, key, newest + 1)
    return _stored(row)


def _use(connection: Connection, key: str, version: int, name: str = _ACTIVE) -> None:
    label = insert(prompt_labels).values(key=key, label=name, version=version)
    moved = {"version": version, "updated_at": func.clock_timestamp()}
    connection.execute(label.on_conflict_do_update(index_elements=["key", "label"], set_=moved))


def _stored(row: Row[*tuple[Any, ...]]) -> Stored:
    return Stored(row.key, row.version, row.text, row.is_default, row.created_at, row.actor, row.note)
