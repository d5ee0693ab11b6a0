"""Jobs that continue each other: in the interpreter that waits for them, or in a new one that repeats the earlier."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

import pytest

from services.execution.execute import Execute
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sessions import Interpreters
from shared.contracts.execute import ExecuteInput, ExecuteResult, Verdict
from shared.errors import InvalidRequest, JobCancelled, UserCodeFailed
from shared.jobs.job import Context, FinishedJob
from tests.support.context import MemoryContext, MemoryFiles, MemoryReport
from tests.support.wait import until


@dataclass
class HeardReport(MemoryReport):
    """Notes when the code has said something."""

    heard: Callable[[], None] = lambda: None

    def output(self, stream: str, text: str) -> None:
        super().output(stream, text)
        self.heard()


@dataclass
class Kept:
    """The jobs of one tenant."""

    jobs: dict[str, FinishedJob] = field(default_factory=dict)

    def of(self, job_id: str) -> FinishedJob | None:
        return self.jobs.get(job_id)

    def latest(self, kind: str) -> FinishedJob | None:
        return None


@dataclass
class Tenant:
    """A client that sends one job after the other."""

    execute: Execute
    name: str = "acme"
    kept: Kept = field(default_factory=Kept)
    files: MemoryFiles = field(default_factory=MemoryFiles)
    report: HeardReport = field(default_factory=HeardReport)
    cancelled: Event = field(default_factory=Event)

    def __call__(self, code: str, continues: str | None = None, **fields: Any) -> tuple[str, ExecuteResult]:
        """The job's id and its result."""
        input = {"language": "python", "code": code, "session": True, **fields}
        if continues is not None:
            input["continues"] = continues
        id = f"{self.name}-{len(self.kept.jobs) + 1}"
        context = self._context(id, input)
        result = self.execute(context, ExecuteInput.model_validate(input))
        self.kept.jobs[id] = FinishedJob(id, "execute", input, result.model_dump(mode="json"))
        return id, result

    def _context(self, id: str, input: Mapping[str, Any]) -> Context:
        memory = MemoryContext(report=self.report, files=self.files, cancelled=self.cancelled, tenant=self.name)
        context = memory.context("execute")
        return replace(context, job=replace(context.job, id=id, input=input), results=self.kept)


@pytest.fixture(scope="module")
def interpreters(sandbox: Sandbox) -> Iterator[Interpreters]:
    with Interpreters(sandbox, 2) as opened:
        yield opened


@pytest.fixture
def tenant(sandbox: Sandbox, interpreters: Interpreters) -> Tenant:
    return Tenant(Execute(sandbox, interpreters), f"t{uuid.uuid4().hex[:8]}")


def value(result: ExecuteResult) -> str:
    assert result.verdict is Verdict.OK, result
    assert result.value is not None
    return result.value.text


@pytest.mark.slow
def test_a_job_finds_what_the_one_before_has_defined_and_written(tenant: Tenant) -> None:
    first, _ = tenant("import math\ndef f(x): return math.sqrt(x)\nopen('a.txt', 'w').write('kept')\nn = 16")
    second, result = tenant("open('b.txt', 'w').write(open('a.txt').read())\nf(n)", first)
    assert value(result) == "4.0"
    assert [artifact.path for artifact in result.artifacts] == ["b.txt"]
    assert tenant.files.contents[result.artifacts[0].file_id][1] == b"kept"
    assert result.session is not None
    assert (result.session.calls, result.session.repeated) == (2, 0)
    third, failed = tenant("n = 25\n1 / 0", second)
    assert failed.verdict is Verdict.USER_ERROR
    _, result = tenant("f(n)", third)
    assert value(result) == "5.0"


@pytest.mark.slow
def test_files_may_come_with_any_job_and_figures_go_with_theirs(tenant: Tenant) -> None:
    first, _ = tenant("import matplotlib.pyplot as plt")
    file = tenant.files.add("d.csv", b"a\n1\n2\n")
    second, result = tenant(
        "lines = open('in/d.csv').read()\nplt.plot([1, 2])\nlines", first, files=[{"id": file, "path": "in/d.csv"}]
    )
    assert value(result) == repr("a\n1\n2\n")
    assert [display.media_type for display in result.displays] == ["image/png"]
    assert result.artifacts == []
    _, result = tenant("len(lines)", second)
    assert (value(result), result.displays) == ("6", [])


@pytest.mark.slow
def test_an_interpreter_that_is_gone_is_made_again_from_the_jobs_before(sandbox: Sandbox, tenant: Tenant) -> None:
    first, _ = tenant("total = 1")
    second, _ = tenant("total += 1", first)
    with Interpreters(sandbox, 1) as elsewhere:
        other = replace(tenant, execute=Execute(sandbox, elsewhere), report=HeardReport())
        _, result = other("total", second)
        assert value(result) == "2"
        assert result.session is not None
        assert result.session.repeated == 2
        assert other.report.warnings == ["The interpreter of this session was gone: its 2 earlier jobs ran again."]
    _, result = tenant("total += 10; total", first)
    assert value(result) == "11"
    _, result = tenant("total", second)
    assert value(result) == "2"


@pytest.mark.slow(seconds=1)
def test_a_job_that_hits_a_limit_ends_the_interpreter_and_the_next_begins_from_before(tenant: Tenant) -> None:
    first, _ = tenant("n = 1")
    second, result = tenant("n = 2\nwhile True: pass", first, limits={"wall_seconds": 0.5})
    assert result.verdict is Verdict.TIMEOUT_WALL
    assert result.session is not None
    assert not result.session.alive
    _, result = tenant("n", second)
    assert value(result) == "1"


@pytest.mark.slow
def test_only_jobs_of_a_session_in_the_same_language_and_of_the_same_tenant_are_continued(tenant: Tenant) -> None:
    first, _ = tenant("secret = 1")
    stranger = Tenant(tenant.execute, "stranger")
    with pytest.raises(InvalidRequest, match="does not belong to a session"):
        stranger("secret", first)
    with pytest.raises(InvalidRequest, match="in python"):
        tenant("1", first, language="sql")
    tenant.kept.jobs["plain"] = FinishedJob("plain", "execute", {"language": "python", "code": "1"}, {"verdict": "ok"})
    with pytest.raises(InvalidRequest, match="does not belong to a session"):
        tenant("1", "plain")


@pytest.mark.slow
def test_a_cancelled_job_ends_its_interpreter(tenant: Tenant) -> None:
    first, _ = tenant("n = 1")
    tenant.report.heard = tenant.cancelled.set
    with pytest.raises(JobCancelled):
        tenant("n = 2\nprint('on', flush=True)\nwhile True: pass", first, limits={"wall_seconds": 100})
    tenant.cancelled.clear()
    _, result = tenant("n", first)
    assert value(result) == "1"


@pytest.mark.slow(seconds=1)
def test_no_more_than_so_many_wait_and_other_languages_have_sessions_too(sandbox: Sandbox, tenant: Tenant) -> None:
    last = [tenant(f"n = {number}")[0] for number in range(4)]
    for number, id in enumerate(last):
        _, result = tenant("n", id)
        assert value(result) == str(number)
    first, _ = tenant("create table t as select 42 as n", language="sql")
    _, result = tenant("select n from t", first, language="sql")
    assert result.verdict is Verdict.OK
    assert result.value is not None
    assert "42" in result.value.text


def test_a_session_has_no_stdin_and_no_seed() -> None:
    for fields in ({"stdin": "x"}, {"seed": 1}, {"session": False, "continues": "x"}):
        with pytest.raises(ValueError, match="session"):
            ExecuteInput.model_validate({"language": "python", "code": "1", "session": True, **fields})


@pytest.mark.slow
@pytest.mark.parametrize(
    "trap", ["os.mkdir('x')", "os.symlink('/etc', 'x')", "os.mkfifo('x')", "open('x', 'w'); os.chmod('.', 0o500)"]
)
def test_a_place_that_the_code_has_spoilt_takes_no_file_and_harms_no_one(tenant: Tenant, trap: str) -> None:
    first, _ = tenant(f"import os\n{trap}\nn = 1")
    file = tenant.files.add("x", b"new")
    try:
        _, result = tenant("open('x').read()", first, files=[{"id": file, "path": "x"}])
    except UserCodeFailed:
        result = None
    assert result is None or value(result) == "'new'"
    _, result = tenant("n", first)
    assert value(result) == "1"


@pytest.mark.slow
def test_files_that_left_a_session_are_not_kept_twice(tenant: Tenant) -> None:
    """What a job has made is the tenant's file; except for the interpreter that waits, nothing of it stays."""
    last, _ = tenant("write = lambda name: open(name, 'wb').write(b'x' * 3_000_000)")
    for number in range(3):
        last, result = tenant(f"write('big-{number}')", last)
        assert [artifact.size for artifact in result.artifacts] == [3_000_000]
    scratch = tenant.execute._sandbox._own.folder
    assert [path for path in scratch.rglob("*") if path.is_file() and path.stat().st_size >= 3_000_000] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "begins", "leaves", "reads"),
    [
        ("python", "n = 1", "import os\nn = 2\nos._exit(0)", "n"),
        ("javascript", "n = 1", "n = 2; process.exit(0)", "n"),
        ("r", "n <- 1", "n <- 2\nbase::quit(status = 0)", "n"),
    ],
)
def test_a_job_that_ends_its_interpreter_says_so_and_the_next_has_a_new_one(
    sandbox: Sandbox, tenant: Tenant, language: str, begins: str, leaves: str, reads: str
) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    first, _ = tenant(begins, language=language)
    second, result = tenant(leaves, first, language=language)
    assert result.verdict is Verdict.USER_ERROR
    assert result.error is not None
    assert "What the session held is gone." in result.error.message
    assert result.session is not None
    assert not result.session.alive
    assert tenant.report.warnings == [
        "The code ended the interpreter of its session; the next job begins in a new one."
    ]
    tenant.report.warnings.clear()
    third, result = tenant(reads, second, language=language)
    assert "1" in value(result)
    assert tenant.report.warnings == [
        "The job before this one ended the interpreter of the session: this one is new.",
        "The interpreter of this session was gone: its 1 earlier jobs ran again.",
    ]
    tenant.report.warnings.clear()
    _, result = tenant(reads, third, language=language)
    assert "1" in value(result)
    assert tenant.report.warnings == []


@pytest.mark.slow
def test_the_first_job_may_end_its_interpreter_too(tenant: Tenant) -> None:
    first, result = tenant("import os\nos._exit(0)")
    assert result.verdict is Verdict.USER_ERROR
    _, result = tenant("print(5)", first)
    assert (result.verdict, result.stdout) == (Verdict.OK, "5\n")
    assert (
        tenant.report.warnings[-1] == "The job before this one ended the interpreter of the session: this one is new."
    )


@pytest.mark.slow(seconds=1)
def test_an_interpreter_that_ends_between_two_jobs_does_not_end_the_session_for_ever(
    sandbox: Sandbox, tenant: Tenant
) -> None:
    code = "import os, threading\nthreading.Timer(0.2, os._exit, (0,)).start()\nn = 1"
    first, result = tenant(code)
    assert result.verdict is Verdict.OK
    waiting = tenant.execute._interpreters._waiting[tenant.name, first].session
    until(lambda: not waiting.alive, "the end of an interpreter", 20)
    second, result = tenant("import time\ntime.sleep(0.5)\nn", first)  # its code ran again, and ends it again
    assert result.verdict is Verdict.USER_ERROR
    _, result = tenant("5", second)
    assert value(result) == "5"
