"""One conformance suite for every language kernel; what is not installed here is skipped, but never on CI."""

from __future__ import annotations

import math
import os
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Frame, KernelError, Run
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.conftest import RunCode


@dataclass(frozen=True)
class Sample:
    language: str
    value: str  #: code whose last expression is 42
    prints: str  #: prints the line "seen"
    fails: str  #: raises an error whose message holds "broken"
    leaves: str | None  #: exits with status 3
    loops: str
    hoards: str | None
    shows: str | None  #: displays the text "shown"
    writes: str  #: makes out.txt or out.csv in the work folder
    reads: str  #: the number of characters of the input file in.txt (or rows, for SQL)


SAMPLES = [
    Sample(
        "python", "40 + 2", "print('seen')", "raise ValueError('broken')", "import sys; sys.exit(3)",
        "while True: pass", "x = [bytearray(10**6) for _ in range(10**6)]", "display('shown')",
        "open('out.txt', 'w').write('x')", "len(open('in.txt').read())",
    ),
    Sample(
        "javascript", "40 + 2", "console.log('seen')", "throw new RangeError('broken')", "process.exit(3)",
        "while (true) {}", "const a = []; while (true) a.push(new Array(1e5).fill(1.5))", "display('shown')",
        "require('fs').writeFileSync('out.txt', 'x')", "require('fs').readFileSync('in.txt', 'utf8').length",
    ),
    Sample(
        "sql", "SELECT 40 + 2 AS answer", "", "SELECT error('broken')", None,
        "SELECT count(*) FROM range(1000000000) a, range(1000000) b", None, None,
        "COPY (SELECT 1 AS x) TO 'out.csv'", "SELECT count(*) FROM read_csv('in.txt', header = false)",
    ),
    Sample(
        "r", "40 + 2", "cat('seen\\n')", "stop('broken')", "quit(status = 3)",
        "while (TRUE) {}", "x <- list(); while (TRUE) x[[length(x) + 1]] <- runif(1e6)", "display('shown')",
        "writeLines('x', 'out.txt')", "nchar(readLines('in.txt'))",
    ),
]  # fmt: skip


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.language)
def sample(request: pytest.FixtureRequest, sandbox: Sandbox) -> Sample:
    chosen: Sample = request.param
    if sandbox.languages()[chosen.language] is None:
        if os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
            pytest.fail(f"{chosen.language} is missing: run scripts/install-optional")
        pytest.skip(f"{chosen.language} is not installed here; scripts/install-optional installs it")
    return chosen


def test_the_last_expression_is_the_value(sample: Sample, run_code: RunCode) -> None:
    outcome = run_code(sample.value, sample.language)
    assert outcome.verdict is Verdict.OK
    assert outcome.value is not None
    assert "42" in outcome.value.text


@pytest.mark.slow
def test_threads_of_the_language_are_not_the_codes(sample: Sample, run_code: RunCode) -> None:
    assert run_code(sample.value, sample.language, processes=1).verdict is Verdict.OK


def test_prints_reach_the_output(sample: Sample, run_code: RunCode) -> None:
    if sample.prints:
        assert run_code(sample.prints, sample.language).stdout == "seen\n"


@pytest.mark.slow
def test_errors_are_told_in_the_words_of_the_language(sample: Sample, run_code: RunCode) -> None:
    outcome = run_code(sample.fails, sample.language)
    assert outcome.verdict is Verdict.USER_ERROR
    assert outcome.error is not None
    assert "broken" in outcome.error.message
    assert "/runtime/guest" not in outcome.error.traceback


def test_an_exit_status_is_a_user_error(sample: Sample, run_code: RunCode) -> None:
    if sample.leaves is not None:
        outcome = run_code(sample.leaves, sample.language)
        assert outcome.verdict is Verdict.USER_ERROR
        assert outcome.error is not None
        assert outcome.error.exit_code == 3


@pytest.mark.slow(seconds=2)
def test_loops_and_hoards_are_ended(sample: Sample, run_code: RunCode) -> None:
    limits = {"wall_seconds": 60, "cpu_seconds": 0.5, "memory_mb": 300}
    assert run_code(sample.loops, sample.language, **limits).verdict in (Verdict.TIMEOUT_CPU, Verdict.TIMEOUT_WALL)
    if sample.hoards is not None:
        outcome = run_code(sample.hoards, sample.language, wall_seconds=60, cpu_seconds=60, memory_mb=300)
        assert outcome.verdict is Verdict.MEMORY


@pytest.mark.slow
def test_displays_are_shown(sample: Sample, run_code: RunCode) -> None:
    if sample.shows is not None:
        assert [shown.text for shown in run_code(sample.shows, sample.language).displays] == ["shown"]


@pytest.mark.slow(seconds=1)
def test_files_go_in_and_come_out(sample: Sample, sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("abcde\n" if sample.language != "python" else "abcde")
    files = {"in.txt": tmp_path / "in"}
    with sandbox.run(Run(sample.language, sample.reads, files=files)) as outcome:
        assert outcome.verdict is Verdict.OK
        assert outcome.value is not None
    with sandbox.run(Run(sample.language, sample.writes, files=files)) as outcome:
        assert [product.path[:4] for product in outcome.artifacts] == ["out."]


@pytest.mark.slow(seconds=1.5)
def test_a_session_keeps_sets_and_gives_variables(sample: Sample, sandbox: Sandbox) -> None:
    with sandbox.session(sample.language, Limits(), {}) as session:
        assert session.info().language == sample.language
        assert session.packages()
        if sample.language == "sql":
            session.execute("CREATE TABLE x AS SELECT 41 AS v")
            assert session.get("x").rows == 1
        else:
            session.execute("x = 41" if sample.language != "r" else "x <- 41")
            session.set("y", 1)
            assert "42" in session.evaluate("x + y").text
            assert session.get("x").json == 41
        assert "x" in {variable.name for variable in session.list()}
        session.remove("x")
        assert "x" not in {variable.name for variable in session.list()}


def test_a_table_goes_in_and_the_result_comes_out(sample: Sample, sandbox: Sandbox, tmp_path: Path) -> None:
    source = pyarrow.table({"name": ["a", "b", None], "number": [1, 2, 3]})
    with pyarrow.OSFile(str(tmp_path / "in.arrow"), "wb") as sink, pyarrow.ipc.new_file(sink, source.schema) as writer:
        writer.write_table(source)
    code = {
        "python": "data[data.number > 1]",
        "sql": "SELECT * FROM data WHERE number > 1",
        "javascript": "data.filter((row) => row.number > 1)",
    }
    run = Run(
        sample.language,
        code.get(sample.language, "data[data$number > 1, ]"),
        frames={"data": Frame(tmp_path / "in.arrow")},
        take="table",
    )
    with sandbox.run(run) as outcome:
        assert outcome.verdict is Verdict.OK
        assert outcome.table is not None
        with pyarrow.memory_map(str(outcome.table)) as opened:
            result = pyarrow.ipc.open_file(opened).read_all()
        assert result.column("number").to_pylist() == [2, 3]
        assert result.column("name").to_pylist() == ["b", None]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(
    ("language", "code", "value"),
    [
        ("python", "x = 1\r\nx + 41\r\n", "42"),
        ("r", "x <- 1\r\nx + 41\r\n", "42"),
        ("javascript", "const x = 1\r\nx + 41\r\n", "42"),
        ("sql", "CREATE TABLE t AS SELECT 41 AS n;\r\nSELECT n + 1 AS m\r\nFROM t\r\n", "42"),
        ("r", "closeAllConnections()\n42", "42"),
        ("r", "f <- function() { browser(); 42 }\ndebug(f)\nf()", "42"),
        (
            "javascript",
            "for (let n = 0; n < 1000; n++) process.stdout.write('x'.repeat(1000))\nawait import('fs')\n42",
            "42",
        ),
    ],
)
def test_what_programs_often_do_is_done(
    sandbox: Sandbox, run_code: RunCode, language: str, code: str, value: str
) -> None:
    if sandbox.languages()[language] is None:
        pytest.skip("not installed")
    outcome = run_code(code, language, output_bytes=2_000_000)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    assert value in outcome.value.text
    assert outcome.stderr == ""


def test_what_javascript_prints_is_out_before_it_exits_with_its_status(sandbox: Sandbox, run_code: RunCode) -> None:
    _needs_javascript(sandbox)
    long = "for (let n = 0; n < 1000; n++) process.stdout.write('x'.repeat(1000))\n"
    for leaves in ("process.exit(3)", "process.exitCode = 3"):
        outcome = run_code(long + leaves, "javascript", output_bytes=2_000_000)
        assert len(outcome.stdout) == 1_000_000
        assert outcome.error is not None
        assert outcome.error.exit_code == 3
    assert run_code("for (;;) console.log('x'.repeat(1000))", "javascript", output_bytes=1000).verdict is Verdict.OUTPUT


@pytest.mark.parametrize(
    ("code", "verdict", "prints"),
    [
        ("process.on('beforeExit', () => { throw new Error('real') }); 5", Verdict.USER_ERROR, ""),
        ("process.on('exit', () => { throw new Error('real') }); 5", Verdict.USER_ERROR, ""),
        (
            "let n = 0; process.on('beforeExit', () => { if (n++ < 2) setTimeout(() => console.log('more'), 1) }); 5",
            Verdict.OK,
            "more\nmore\n",
        ),
        (
            "process.once('beforeExit', () => console.log('last')); await new Promise(() => {})",
            Verdict.USER_ERROR,
            "last\n",
        ),
        ("process.emit('exit'); 5", Verdict.OK, ""),
    ],
)
def test_what_javascript_does_before_it_exits_counts(
    sandbox: Sandbox, run_code: RunCode, code: str, verdict: Verdict, prints: str
) -> None:
    _needs_javascript(sandbox)
    outcome = run_code(code, "javascript")
    assert (outcome.verdict, outcome.stdout) == (verdict, prints)


def test_an_error_of_a_timer_after_its_call_is_shown_by_it_or_the_next(sandbox: Sandbox) -> None:
    _needs_javascript(sandbox)
    with sandbox.session("javascript", Limits(), {}) as session:
        outcome = session.execute("setTimeout(() => { throw new Error('late') }, 5); 1")
        assert outcome.verdict is Verdict.OK
        deadline = time.monotonic() + 10
        seen = outcome.stderr  # what is written before the call's output has been read is its own
        while "Error: late" not in seen and time.monotonic() < deadline:
            outcome = session.execute("2")
            assert outcome.verdict is Verdict.OK
            seen += outcome.stderr
    assert "Error: late" in seen


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("f <- function() { on.exit(quit(status = 0)); stop('real') }\nf()", Verdict.USER_ERROR),
        ("tryCatch(stop('real'), finally = quit(status = 0))", Verdict.USER_ERROR),
        ("tryCatch(stop('real'), error = function(problem) quit(status = 0))", Verdict.OK),
        ("try(stop('real'), silent = TRUE); quit(status = 0)", Verdict.OK),
    ],
)
def test_an_exit_of_what_unwinds_does_not_undo_an_error_of_r(
    sandbox: Sandbox, run_code: RunCode, code: str, verdict: Verdict
) -> None:
    if sandbox.languages()["r"] is None:
        pytest.skip("not installed")
    outcome = run_code(code, "r")
    assert outcome.verdict is verdict
    assert outcome.error is None or outcome.error.message == "real"


def test_an_error_of_sql_has_no_frames_of_what_runs_it(run_code: RunCode) -> None:
    for code in ("SELEC 1", "SELECT no_such FROM range(3)", "SELECT error('broken')", "COPY (SELECT 1) TO '/etc/x'"):
        outcome = run_code(code, "sql")
        assert outcome.error is not None
        assert outcome.error.message in outcome.error.traceback
        assert "File " not in outcome.error.traceback + outcome.stderr


def _needs_javascript(sandbox: Sandbox) -> None:
    if sandbox.languages()["javascript"] is None:
        pytest.skip("javascript is not installed here; scripts/install-optional installs it")


@pytest.mark.slow(seconds=1.5)
def test_flat_objects_are_a_table_and_other_things_are_not(sandbox: Sandbox) -> None:
    _needs_javascript(sandbox)
    code = """[
        { whole: 1, big: 9007199254740991, exact: 2n ** 62n, part: 0.5, yes: true, at: new Date(1500),
          text: "\u00e4", mixed: 1 },
        { whole: null, part: NaN, at: new Date(NaN), text: "", mixed: "b", late: "x" },
    ]"""
    with sandbox.run(Run("javascript", code, take="table")) as outcome:
        assert outcome.table is not None, outcome
        with pyarrow.memory_map(str(outcome.table)) as opened:
            table = pyarrow.ipc.open_file(opened).read_all()
        rows = table.to_pylist()
    assert math.isnan(rows[1].pop("part"))
    assert rows == [
        {
            "whole": 1, "big": 9007199254740991, "exact": 2**62, "part": 0.5, "yes": True,
            "at": datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC), "text": "\u00e4", "mixed": "1", "late": None,
        },
        {
            "whole": None, "big": None, "exact": None, "yes": None, "at": None, "text": "", "mixed": "b", "late": "x",
        },
    ]  # fmt: skip
    for other in ("[1, 2]", "[]", "[{ a: [1] }]", "({ a: 1 })", "[{}]", "[null]"):
        with sandbox.run(Run("javascript", other, take="table")) as outcome:
            assert outcome.verdict is Verdict.OK
            assert outcome.table is None
            assert outcome.refused == ()


def test_what_javascript_cannot_remove_it_says(sandbox: Sandbox) -> None:
    _needs_javascript(sandbox)
    with sandbox.session("javascript", Limits(), {}) as session:
        session.execute("var loose = 1; free = 2\nlet kept = 3\nconst firm = 4")
        for name in ("loose", "free"):
            session.remove(name)
        for name in ("kept", "firm"):
            with pytest.raises(KernelError, match=f"{name} was made by let, const or class"):
                session.remove(name)
        assert {variable.name for variable in session.list()} == {"kept", "firm"}
        assert session.evaluate("kept + firm").text == "7"
        session.execute("var loose = 5")
        assert {variable.name for variable in session.list()} == {"kept", "firm", "loose"}


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('UPDATE t SET a = 7 RETURNING a AS "Count"', "7"),
        ("SELECT 1 AS x; INSERT INTO t (a, b) VALUES (8, 'é') RETURNING a AS \"Count\"", "8"),
        ("SELECT 5 AS x; UPDATE t SET b = 'returning'", "5"),
        ("SELECT 5 AS x; DELETE FROM t", "5"),
    ],
)
def test_rows_that_a_change_returns_are_the_value_and_their_number_is_not(
    run_code: RunCode, code: str, shown: str
) -> None:
    outcome = run_code(f"CREATE TABLE t AS SELECT 1 AS a, 'x' AS b; {code}", "sql")
    assert outcome.value is not None
    assert f" {shown} " in outcome.value.text
