"""The second tier: the same attacks and the same languages behind a kernel of their own.

The other suites run there too, with ``ASSAY_SANDBOX_RUNTIME=gvisor`` (``test_languages.py``, ``languages``) and with
``python -m tests.services.execution.sandbox.hostile --runtime gvisor``.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pytest

from services.execution.languages.table import language_specs
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Frame, Isolation, Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from shared.errors import SandboxUnavailable
from tests.services.execution.sandbox.attacks import HOARDS, PRELUDE, REACHES, SPRAYING, SPRAYS
from tests.services.execution.sandbox.attacks_on_gvisor import on_gvisor
from tests.services.execution.sandbox.leftovers import children_of

pytestmark = [
    pytest.mark.slow(seconds=3),
    pytest.mark.timeout(170),
    pytest.mark.skipif(
        shutil.which("runsc") is None, reason="gVisor's runsc is not installed; scripts/install-optional does"
    ),
]
_TIGHT = Limits(wall_seconds=60, cpu_seconds=3, memory_mb=200, disk_mb=20, processes=12, output_bytes=50_000)
_HOARDS = ("patient fork bomb", "growing allocation", "fallocate", "endless sleep")


def _opened() -> Sandbox:
    """The libraries are loaded by the code that wants them: many tests want none."""
    specs = {
        name: replace(spec, warm=tuple(module for module in spec.warm if not module.endswith(".libraries")))
        for name, spec in language_specs().items()
    }
    return Sandbox(SandboxSettings(slots=1, runtime="gvisor", minimum="gvisor"), specs)


@pytest.fixture(scope="module")
def before() -> set[int]:
    """The processes of others, before there is one of gVisor."""
    return children_of(os.getpid())


@pytest.fixture(scope="module")
def gvisor(before: set[int]) -> Iterator[Sandbox]:
    with _opened() as opened:
        yield opened


def test_every_run_says_that_gvisor_isolated_it(gvisor: Sandbox) -> None:
    with gvisor.run(Run("python", "import os\nos.uname().release", limits=Limits(wall_seconds=60))) as outcome:
        assert outcome.isolation == gvisor.isolation == Isolation("gvisor")
        assert outcome.value is not None, outcome
        assert outcome.value.text == "'4.4.0'"


def test_what_reaches_out_finds_nothing_there_either(gvisor: Sandbox) -> None:
    attacks = [on_gvisor(attack) for attack in REACHES if attack.needs in (None, platform.machine())]
    # One that patches builtins would change the interpreter that the others share.
    quiet = [attack for attack in attacks if attack.verdicts == (Verdict.OK,) and attack.number != 57]
    assert len(quiet) > 25
    faults = []
    with gvisor.session("python", Limits(wall_seconds=60, cpu_seconds=60), {}) as session:
        for attack in quiet:
            outcome = session.execute(PRELUDE + attack.code)
            seen = None if outcome.value is None else outcome.value.text
            if outcome.verdict is not Verdict.OK or (attack.value is not None and seen != attack.value):
                faults.append((str(attack), outcome.verdict, seen, attack.value, outcome.error))
    assert faults == []


@pytest.mark.parametrize("name", _HOARDS)
def test_what_hoards_is_ended_there_under_the_same_verdict(name: str, gvisor: Sandbox) -> None:
    attack = on_gvisor(next(each for each in HOARDS if each.name == name))
    limits = _TIGHT.model_copy(update={"wall_seconds": 2.0} if attack.verdicts == (Verdict.TIMEOUT_WALL,) else {})
    with gvisor.run(Run("python", PRELUDE + attack.code, limits=limits)) as outcome:
        assert outcome.verdict in attack.verdicts, outcome


def test_code_that_speaks_for_its_kernel_is_rejected_there_too(gvisor: Sandbox) -> None:
    code = f"{SPRAYING}\nspray({SPRAYS['random bytes']})\n1 / 0"
    with gvisor.run(Run("python", code, limits=Limits(wall_seconds=60))) as outcome:
        assert outcome.verdict is Verdict.REJECTED, outcome


@pytest.mark.parametrize(
    ("language", "code"),
    [("sql", "SELECT count(*) AS n FROM t"), ("javascript", "t.length"), ("r", "nrow(t)"), ("python", "len(t)")],
)
def test_tables_go_in_for_every_language(language: str, code: str, gvisor: Sandbox, tmp_path: Path) -> None:
    if gvisor.languages()[language] is None:
        pytest.skip("not installed")
    table = pyarrow.table({"n": range(1000)})
    with pyarrow.OSFile(str(tmp_path / "t"), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    run = Run(language, code, frames={"t": Frame(tmp_path / "t")}, limits=Limits(wall_seconds=60, cpu_seconds=60))
    with gvisor.run(run) as outcome:
        assert outcome.value is not None, outcome
        assert "1000" in outcome.value.text


def test_files_and_a_table_come_out(gvisor: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("old")
    code = "import pandas\nopen('given.txt', 'a').write(' and new')\npandas.DataFrame({'a': [1, 2]})"
    limits = Limits(wall_seconds=60, cpu_seconds=60)
    run = Run("python", code, files={"given.txt": tmp_path / "given"}, take="table", limits=limits)
    with gvisor.run(run) as outcome:
        assert [(each.path, each.content.read_text()) for each in outcome.artifacts] == [("given.txt", "old and new")]
        assert outcome.table is not None, outcome
        with pyarrow.memory_map(str(outcome.table)) as opened:
            assert pyarrow.ipc.open_file(opened).read_all().to_pydict() == {"a": [1, 2]}


def test_a_call_that_runs_too_long_is_interrupted_and_the_session_goes_on(gvisor: Sandbox) -> None:
    with gvisor.session("python", Limits(wall_seconds=2, cpu_seconds=60), {}) as session:
        session.execute("kept = 42")
        assert session.execute("while True: pass").verdict is Verdict.TIMEOUT_WALL
        value = session.evaluate("kept")
        assert value.text == "42"


@pytest.mark.parametrize(
    ("language", "table"),
    [("python", "import pandas\nt = pandas.DataFrame({'n': [1, 2]})"), ("sql", "CREATE TABLE t AS VALUES (1), (2)")],
)
def test_a_table_of_a_session_comes_out(language: str, table: str, gvisor: Sandbox) -> None:
    with gvisor.session(language, Limits(wall_seconds=60, cpu_seconds=60), {}) as session:
        assert session.execute(table).verdict is Verdict.OK
        assert session.get("t").rows == 2


def test_r_has_a_temporary_folder_when_a_run_begins(gvisor: Sandbox) -> None:
    if gvisor.languages()["r"] is None:
        pytest.skip("R is not installed; scripts/install-optional does")
    with gvisor.session("r", Limits(wall_seconds=60, cpu_seconds=60), {}) as session:
        assert "base" in session.packages()
        assert session.execute("writeLines('x', tempfile())").verdict is Verdict.OK


def test_without_runsc_the_worker_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="runsc is missing"):
        open_sandbox(SandboxSettings(runtime="gvisor", runsc=tmp_path / "none"))


def test_a_kernel_that_is_not_gvisors_is_refused(tmp_path: Path) -> None:
    """A runsc that runs the code on this machine's kernel: what it says of itself does not count."""
    fake = tmp_path / "runsc"
    fake.write_text(
        "#!/usr/bin/python3\nimport json, os, sys\nbundle = sys.argv[sys.argv.index('--bundle') + 1]\n"
        "args = json.load(open(bundle + '/config.json'))['process']['args']\nos.execv(args[0], args)\n"
    )
    fake.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match=r"did not start|not gVisor's"):
        open_sandbox(SandboxSettings(runtime="gvisor", runsc=fake, slots=1))


def test_nothing_of_it_is_left(gvisor: Sandbox, before: set[int]) -> None:
    # The last test: it ends the sandbox that the others share.
    assert children_of(os.getpid(), before)
    gvisor.close()
    assert children_of(os.getpid(), before) == set()
