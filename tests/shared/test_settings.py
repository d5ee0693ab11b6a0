"""A process whose settings do not fit says which and ends with a status of its own, however it is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from services.host.processes import PROCESSES, Process
from shared.settings import WRONG_SETTINGS, postgres_url
from tests.support import forks

_ROOT = Path(__file__).resolve().parents[2]
#: What most of the processes import.
_IMPORTS = ("shared.jobs.worker", "shared.jobs.record.queries", "celery.bin.worker", "kombu.transport.redis")


def _ended(process: Process, **env: str) -> forks.Ran:
    return forks.run(process.module, [], {"PATH": os.environ["PATH"], **env}, _ROOT, imports=_IMPORTS)


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_process_without_settings_names_each_in_one_line(process: Process) -> None:
    ended = _ended(process)
    assert ended.status == WRONG_SETTINGS
    (line,) = ended.talk.splitlines()
    for variable in ("DATABASE_URL", "REDIS_URL", "BLOB_URL"):
        assert f"{variable} has to be set (" in line
    assert "docs/settings.md" in line


def test_a_setting_that_does_not_fit_is_named_without_its_value() -> None:
    stores = {"DATABASE_URL": "postgresql://127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1", "BLOB_URL": "file:///x"}
    ended = _ended(PROCESSES[-1], **stores, ASSAY_LEASE_SECONDS="a-secret")
    assert ended.status == WRONG_SETTINGS
    (line,) = ended.talk.splitlines()
    assert "ASSAY_LEASE_SECONDS must be a number" in line
    assert "a-secret" not in line


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://u:secret@h/d", "begin it with postgresql://"),
        ("host=h password=secret", "begin it with postgresql://"),
        ("", "begin it with postgresql://"),
        ("postgresql://u:se%cret@h/d", "% as %25"),
        ("postgresql://u:sec@ret@h/d", "@ as %40"),
        ("postgresql://u:sec/ret@h/d", "/ as %2F"),
        ("postgres://u:sec ret@h/d", "a space as %20"),
    ],
)
def test_an_address_of_postgres_that_cannot_be_one_is_refused_without_its_password(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        postgres_url(url)
    assert "sec" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s%40%2Fc%25@h:5432/d?sslmode=verify-full",
        "postgresql+psycopg://assay@/assay?host=db-1,db-2&target_session_attrs=read-write",
        "postgres://h/d",
        "postgresql://u:a?b#c:d[e@h/d",
        "postgresql:///d?user=a@b",
    ],
)
def test_an_address_of_postgres_is_taken_without_what_is_around_it(url: str) -> None:
    assert postgres_url(f'\ufeff"{url}"\r\n') == url


@pytest.mark.parametrize("module", ["migrations", "services.host.first_key"])
def test_programs_that_need_the_database_alone_name_it(module: str) -> None:
    env = {"PATH": os.environ["PATH"], "DATABASE_URL": "mysql://u:secret@h/d"}
    ended = forks.run(module, [], env, _ROOT, imports=_IMPORTS)
    assert (ended.status, ended.talk.startswith("DATABASE_URL: begin it with")) == (WRONG_SETTINGS, True)
    assert "secret" not in ended.talk
