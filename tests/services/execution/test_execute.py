"""The execute capability: files in, a verdict, artifacts and displays out, events while it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO, cast

import pytest

from services.execution.execute import Execute
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from services.execution.sessions import Interpreters
from shared.contracts.execute import ExecuteInput, ExecuteResult, Limits, Verdict
from shared.contracts.files import FileInfo
from shared.errors import JobCancelled, NotFound
from shared.jobs.job import Context, Job
from shared.loop import Budget


@dataclass
class Shelf:
    """A tenant's files in a folder."""

    folder: Path
    infos: dict[str, FileInfo] = field(default_factory=dict)

    def info(self, file_id: str) -> FileInfo:
        if file_id not in self.infos:
            raise NotFound("no such file")
        return self.infos[file_id]

    @contextmanager
    def open(self, file_id: str) -> Iterator[BinaryIO]:
        self.info(file_id)
        with (self.folder / file_id).open("rb") as handle:
            yield handle

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        info = self.info(file_id)
        target.write_bytes((self.folder / file_id).read_bytes())
        return info

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        data = content.read_bytes() if isinstance(content, Path) else content
        assert isinstance(data, bytes)
        file_id = f"file-{len(self.infos)}"
        (self.folder / file_id).write_bytes(data)
        sha = hashlib.sha256(data).hexdigest()
        self.infos[file_id] = FileInfo(id=file_id, name=name, size=len(data), sha256=sha, media_type=media_type)
        return self.infos[file_id]


@dataclass
class Notes:
    """What a job reported."""

    outputs: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    heard: Callable[[], None] = lambda: None

    def output(self, stream: str, text: str) -> None:
        self.outputs.append((stream, text))
        self.heard()

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def _context(shelf: Shelf, notes: Notes, cancelled: Event | None = None, budget: Budget | None = None) -> Context:
    parts: Sequence[object] = (None, None, None, (), shelf, None, budget or Budget(), notes, cancelled or Event())
    return cast("Callable[..., Context]", Context)(*parts)


def test_files_go_in_and_artifacts_displays_warnings_and_events_come_out(sandbox: Sandbox, tmp_path: Path) -> None:
    shelf, notes = Shelf(tmp_path), Notes()
    data = shelf.save("data.csv", b"a,b\n1,2\n3,4\n", "text/csv")
    code = """
import pandas as pd, matplotlib.pyplot as plt, os
frame = pd.read_csv("in/data.csv")
print("rows", len(frame))
display(frame)
frame.plot(x="a", y="b")
plt.savefig("plot.png")
os.symlink("/etc/passwd", "link")
int(frame.b.sum())
"""
    request = ExecuteInput.model_validate(
        {"language": "python", "code": code, "files": [{"id": data.id, "path": "in/data.csv"}]}
    )
    result = Execute(sandbox, Interpreters(sandbox, 0))(_context(shelf, notes), request)
    assert result.verdict is Verdict.OK
    assert result.value is not None
    assert result.value.text == "6"
    assert "".join(text for stream, text in notes.outputs if stream == "stdout") == result.stdout == "rows 2\n"
    assert [display.media_type for display in result.displays] == ["text/html", "image/png"]
    assert result.displays[0].text is not None
    assert "<table" in result.displays[0].text
    assert shelf.info(str(result.displays[1].file_id)).media_type == "image/png"
    assert [(artifact.path, shelf.info(artifact.file_id).media_type) for artifact in result.artifacts] == [
        ("plot.png", "image/png")
    ]
    assert notes.warnings == ["Left inside: link: it is a link"]
    assert result.usage.wall_ms > 0
    assert result.isolation.tier == "ns"


def test_a_missing_file_is_not_found(sandbox: Sandbox, tmp_path: Path) -> None:
    request = ExecuteInput.model_validate({"language": "python", "code": "1", "files": [{"id": "no", "path": "x"}]})
    with pytest.raises(NotFound):
        Execute(sandbox, Interpreters(sandbox, 0))(_context(Shelf(tmp_path), Notes()), request)


def test_output_is_heard_while_the_program_runs_and_cancelling_ends_it(sandbox: Sandbox, tmp_path: Path) -> None:
    cancelled = Event()
    notes = Notes(heard=lambda: Thread(target=cancelled.set).start())
    request = ExecuteInput.model_validate(
        {"language": "python", "code": "print('on')\nwhile True: pass", "limits": {"wall_seconds": 100}}
    )
    with pytest.raises(JobCancelled):
        Execute(sandbox, Interpreters(sandbox, 0))(_context(Shelf(tmp_path), notes, cancelled), request)
    assert notes.outputs == [("stdout", "on\n")]


@pytest.mark.parametrize("session", [False, True])
def test_the_budget_of_a_job_bounds_its_code_too(sandbox: Sandbox, tmp_path: Path, session: bool) -> None:
    notes = Notes()
    request = ExecuteInput.model_validate({"language": "python", "code": "import time\ntime.sleep(30)"})
    run = Run("python", request.code, limits=request.limits)
    assert run.limits.wall_seconds > 1
    context = _context(Shelf(tmp_path), notes, budget=Budget(seconds=1))
    execute = Execute(sandbox, Interpreters(sandbox, 0))
    result = execute(context, request) if not session else _in_session(execute, context, request)
    assert result.verdict is Verdict.TIMEOUT_WALL
    assert 900 < result.usage.wall_ms < 8000
    assert session or notes.warnings == ["The job's budget of seconds ended the code, before its wall time limit."]


def _in_session(execute: Execute, context: Context, request: ExecuteInput) -> ExecuteResult:
    job = Job.__new__(Job)
    object.__setattr__(job, "id", "one")
    object.__setattr__(job, "tenant_id", "acme")
    return execute(replace(context, job=job), request.model_copy(update={"session": True}))


_CLOSED = {
    "python": {
        "a file of mode 0": "open('a.txt', 'w').write('x')\nimport os\nos.chmod('a.txt', 0)",
        "a file to be written only": "open('a.txt', 'w').write('x')\nimport os\nos.chmod('a.txt', 0o200)",
        "an umask": "import os\nos.umask(0o777)\nopen('a.txt', 'w').write('x')",
    },
    "javascript": {
        "a file of mode 0": "const fs = require('fs'); fs.writeFileSync('a.txt', 'x'); fs.chmodSync('a.txt', 0)",
        "an umask": "process.umask(0o777); require('fs').writeFileSync('a.txt', 'x')",
    },
    "r": {
        "a file of mode 0": "cat('x', file = 'a.txt')\nSys.chmod('a.txt', '000')",
        "an umask": "Sys.umask('777')\ncat('x', file = 'a.txt')",
    },
}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param(language, code, id=f"{language}, {name}")
        for language in _CLOSED
        for name, code in _CLOSED[language].items()
    ],
)
def test_the_modes_of_a_programs_files_keep_none_inside(
    sandbox: Sandbox, tmp_path: Path, language: str, code: str
) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    shelf = Shelf(tmp_path)
    request = ExecuteInput.model_validate({"language": language, "code": code})
    result = Execute(sandbox, Interpreters(sandbox, 0))(_context(shelf, Notes()), request)
    assert result.verdict is Verdict.OK, result
    assert [artifact.path for artifact in result.artifacts] == ["a.txt"]
    assert (tmp_path / result.artifacts[0].file_id).read_bytes() == b"x"


@pytest.mark.parametrize(
    ("language", "closes", "shows"),
    [
        ("python", "import os\nos.umask(0o777)", "import matplotlib.pyplot as plt\nplt.plot([1])\nNone"),
        ("python", "import os\nos.umask(0o777)", "display('x' * 70_000)"),
        ("javascript", "process.umask(0o777)", "display('x'.repeat(70000))"),
        ("r", "old <- Sys.umask('777')", "plot(1)"),
    ],
)
def test_what_a_kernel_writes_does_not_depend_on_the_codes_umask(
    sandbox: Sandbox, language: str, closes: str, shows: str
) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    with sandbox.session(language, Limits(), {}) as session:
        session.execute(closes)
        for _ in range(2):
            outcome = session.execute(shows)
            assert outcome.verdict is Verdict.OK, outcome
            assert [
                shown.content is not None and shown.content.stat().st_size > 1000 for shown in outcome.displays
            ] == [True]
    with sandbox.run(Run(language, f"{closes}\n{shows}")) as outcome:
        assert [len(shown.content.read_bytes()) > 1000 for shown in outcome.displays if shown.content] == [True]


@pytest.mark.parametrize(
    ("language", "closes", "table"),
    [
        ("python", "import os\nos.umask(0o777)", "import pandas as pd\npd.DataFrame({'a': [1]})"),
        ("javascript", "process.umask(0o777);", "[{a: 1}]"),
        ("r", "old <- Sys.umask('777')", "data.frame(a = 1)"),
    ],
)
def test_a_table_does_not_depend_on_the_codes_umask(sandbox: Sandbox, language: str, closes: str, table: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    with sandbox.session(language, Limits(), {}) as session:
        session.execute(closes)
        for _ in range(2):
            outcome = session.execute(table, take="table")
            assert outcome.table is not None, outcome
    with sandbox.run(Run(language, f"{closes}\n{table}", take="table")) as outcome:
        assert outcome.table is not None, outcome
        assert outcome.table.stat().st_size > 100


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "class A:\n    @property\n    def __class__(self): raise ValueError('no')\nA()"),
        ("python", "class A:\n    def __getattribute__(self, name): raise ValueError('no')\nA()"),
        ("python", "class A:\n    def __repr__(self): raise ValueError('no')\nA()"),
        ("python", "class A(list):\n    def __len__(self): raise ValueError('no')\nA()"),
        (
            "python",
            "class M(type):\n    __name__ = property(lambda self: 1 / 0)\nclass A(metaclass=M): pass\nA()",
        ),
        (
            "python",
            "class A:\n    def __bool__(self): raise ValueError('no')\n    __eq__ = __bool__\nA()",
        ),
        ("javascript", "new Proxy({}, { get() { throw new Error('no') }, ownKeys() { throw new Error('no') } })"),
        (
            "javascript",
            "new Proxy([], { getPrototypeOf() { throw new Error('no') }, get() { throw new Error('no') } })",
        ),
        ("javascript", "({ get then() { throw new Error('no') } })"),
        ("javascript", "({ toJSON() { throw new Error('no') }, get constructor() { throw new Error('no') } })"),
        ("javascript", "await null; new Proxy({}, { get() { throw new Error('no') } })"),
        ("javascript", "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') } })"),
        ("r", "print.odd <- function(x, ...) stop('no')\nstructure(1, class = 'odd')"),
        (
            "r",
            "dim.odd <- length.odd <- function(x) stop('no')\nstructure(list(1), class = 'odd')",
        ),
    ],
)
def test_a_value_that_cannot_be_looked_at_is_no_error_of_the_code(sandbox: Sandbox, language: str, code: str) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    with sandbox.run(Run(language, code)) as outcome:
        assert outcome.verdict is Verdict.OK, outcome
        assert outcome.value is not None
    with sandbox.session(language, Limits(), {}) as session:
        outcome = session.execute(code)
        assert outcome.verdict is Verdict.OK, outcome
        assert outcome.value is not None
