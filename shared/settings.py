"""Settings that more than one process reads; each process reads them once and passes them down."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from shared.faults import field_fault, worded
from shared.pasted import bare
from shared.secret_files import SecretFileError, read_into

#: Exit status of a process with invalid settings (EX_CONFIG of sysexits.h): restarting it does not help.
WRONG_SETTINGS = 78


def run(main: Callable[[], object]) -> None:
    """Run the process; invalid settings end it with their own status and one line that names them."""
    try:
        read_into(os.environ)
        main()
    except SecretFileError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(WRONG_SETTINGS)
    except (ValidationError, SettingsError) as error:
        reason = explained(error)
        if reason is None:
            raise
        sys.stderr.write(f"{reason}. What each setting is for: docs/settings.md\n")
        sys.exit(WRONG_SETTINGS)


def explained(error: ValidationError | SettingsError) -> str | None:
    """Return the invalid variables and the reasons, without their values; None if the error is not one of settings."""
    if isinstance(error, SettingsError):
        field = re.search(r'field "(\w+)"', str(error))
        return field_fault(field[1].upper() if field else "A setting", "must be JSON")
    owner = next((each for each in _subclasses(BaseSettings) if each.__name__ == error.title), None)
    if owner is None:
        return None
    prefix = owner.model_config.get("env_prefix", "")
    return "; ".join(_fault(owner, prefix, each) for each in error.errors())


def _fault(owner: type[BaseSettings], prefix: str, error: ErrorDetails) -> str:
    name = "_".join(map(str, error["loc"]))
    variable = f"{prefix}{name}".upper()
    if error["type"] != "missing":
        return field_fault(variable, worded(error))
    field = owner.model_fields.get(name)
    meaning = f" ({field.description})" if field and field.description else ""
    return f"{variable} has to be set{meaning}"


def _subclasses(parent: type[BaseSettings]) -> Iterator[type[BaseSettings]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)


def postgres_url(text: str) -> str:
    """Check the address of a Postgres server. Raises: ValueError, without a part of it: it holds a password."""
    url = bare(text)
    if not re.match(r"postgres(ql)?(\+\w+)?://", url):
        raise ValueError("begin it with postgresql://, as in postgresql://user:password@host:5432/database")
    user, at, _ = url.partition("://")[2].partition("?")[0].rpartition("@")
    if at and re.search(r"[@/\s]|%(?![0-9A-Fa-f]{2})", user):
        raise ValueError(
            "the user or the password has a character that a URL writes otherwise: @ as %40, / as %2F, % as %25, "
            "a space as %20"
        )
    return url


PostgresUrl = Annotated[str, AfterValidator(postgres_url)]


class DatabaseSettings(BaseSettings):
    """Where the record is, for programs that need nothing else."""

    model_config = SettingsConfigDict(frozen=True)

    database_url: PostgresUrl = Field(description="Postgres: the record of everything")


class StoreSettings(DatabaseSettings):
    """Where the record, Redis and the blobs are."""

    redis_url: str = Field(description="Redis: notifications, and state that may be lost")
    blob_url: str = Field(description="Where file contents are kept: file:///folder or s3://bucket/prefix")
    qdrant_url: str | None = Field(None, description="A Qdrant server; without it the embedded engine is used")


class CelerySettings(BaseSettings):
    """How Celery delivers notifications."""

    model_config = SettingsConfigDict(frozen=True)

    redis_url: str = Field(description="Redis: notifications, and state that may be lost")
    assay_celery: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Celery's own settings by their own names, as JSON: "
        '`{"worker_send_task_events": true, "broker_transport_options": {"visibility_timeout": 7200}}`',
    )


class JobSettings(BaseSettings):
    """How jobs are leased, retried and kept."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    lease_seconds: float = Field(10, gt=0, description="How long a silent worker keeps a job")
    crashes_until_dead: int = Field(3, ge=1, description="Crashed workers after which a job is dead")
    grace_seconds: float = Field(25, gt=0, description="How long a stopping worker lets its jobs finish")
    concurrency: int = Field(4, ge=1, description="Jobs that one worker process runs at once")
    tenant_running: int = Field(64, ge=0, description="Jobs of one kind that a tenant may run at once; 0 is unlimited")
    storage_per_tenant: int = Field(
        50_000_000_000, ge=0, description="Bytes that the files, inputs and results of one tenant may have"
    )
    default_seconds: float = Field(600, gt=0, description="Time limit of a job that has no budget, in seconds")
    metrics_port: int = Field(0, ge=0, description="Where a process answers Prometheus; 0: it does not")
    ready_file: Path | None = Field(
        None, description="A file that a process makes when it has started to work, and touches every few seconds"
    )
    webhook_private: bool = Field(False, description="Allow webhooks to http and to private addresses")
    upload_days: float = Field(90, gt=0, description="How long an uploaded file is kept that no unfinished job names")
    retention_days: float = Field(30, gt=0, description="How long finished jobs and their files are kept")
    llm_texts_days: float = Field(7, gt=0, description="How long the texts of model calls are kept")

    def say_ready(self) -> None:
        """Create or touch the file: an old one shows that this process hangs."""
        if self.ready_file is not None:
            with suppress(OSError):  # on a full disk the process continues
                self.ready_file.touch()


class PluginSettings(BaseSettings):
    """Plugins: code of the operator's own choice that every process runs with all its rights, outside any sandbox."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", frozen=True)

    plugins: str = Field(
        "",
        description="Python modules, separated by commas, whose `register()` adds job kinds, languages or vendors; "
        "name only what is trusted like Assay itself, and the same for every process",
    )

    @property
    def modules(self) -> list[str]:
        return [name.strip() for name in self.plugins.split(",") if name.strip()]
