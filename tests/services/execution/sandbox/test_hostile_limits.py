"""Code that hoards, and code that hides from being counted: each run ends at its own limit, also among many."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Run
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.attacks import (
    HIDERS,
    HIDING,
    HOARDS,
    PRELUDE,
    TIMEOUT,
    Attack,
)
from tests.services.execution.sandbox.conftest import RunCode

_TIGHT: dict[str, float] = {
    "wall_seconds": 1.5,
    "cpu_seconds": 0.7,
    "memory_mb": 200,
    "disk_mb": 20,
    "processes": 24,
    "output_bytes": 50_000,
}
#: For what another limit ends: on a busy machine time must not be the first to run out.
_PATIENT: dict[str, float] = {"wall_seconds": 30, "cpu_seconds": 10}


@pytest.mark.slow
@pytest.mark.parametrize("attack", HOARDS, ids=str)
def test_what_hoards_is_ended_under_its_own_verdict(attack: Attack, run_code: RunCode) -> None:
    timeout = {} if set(TIMEOUT) & set(attack.verdicts) else _PATIENT
    limits = {**_TIGHT, **timeout, **attack.limits}
    outcome = run_code(PRELUDE + attack.code, "python", **limits)
    assert outcome.verdict in attack.verdicts, outcome
    if attack.value is not None:
        assert outcome.value is not None
        assert outcome.value.text == attack.value


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("attack", HIDERS[::2], ids=str)
def test_what_hides_is_counted_by_control_groups_too(attack: Attack, run_code: RunCode) -> None:
    seconds = 1 if Verdict.TIMEOUT_CPU in attack.verdicts else 30
    limits = {"wall_seconds": 60, "cpu_seconds": seconds, "memory_mb": 200, **attack.limits}
    outcome = run_code(PRELUDE + HIDING + attack.code, "python", **limits)
    assert outcome.verdict in attack.verdicts, outcome


@pytest.fixture(scope="module")
def uncounted() -> Iterator[Sandbox]:
    """A machine without control groups."""
    with open_sandbox(SandboxSettings(slots=1, cgroups=False)) as opened:
        yield opened


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("attack", HIDERS, ids=str)
def test_what_hides_from_being_counted_is_counted(attack: Attack, uncounted: Sandbox) -> None:
    seconds = 1 if Verdict.TIMEOUT_CPU in attack.verdicts else 30
    limits = Limits.model_validate({"wall_seconds": 60, "cpu_seconds": seconds, "memory_mb": 200, **attack.limits})
    with uncounted.run(Run("python", PRELUDE + HIDING + attack.code, limits=limits)) as outcome:
        assert outcome.verdict in attack.verdicts, outcome


@pytest.mark.slow(seconds=1.5)
def test_7_what_forks_share_is_counted_once(uncounted: Sandbox) -> None:
    limits = Limits(memory_mb=200, wall_seconds=60)
    code = "fill(100)\nfor _ in range(5):\n    if os.fork() == 0: time.sleep(0.5); os._exit(0)\ntime.sleep(1)"
    with uncounted.run(Run("python", PRELUDE + HIDING + code, limits=limits)) as outcome:
        assert outcome.verdict is Verdict.OK, outcome
        assert 90 <= outcome.usage.peak_memory_mb <= 200


@pytest.mark.slow
def test_51_no_limit_can_be_raised_and_a_crash_leaves_no_core(run_code: RunCode) -> None:
    code = """
import ctypes, resource, struct
kinds = {name: getattr(resource, name) for name in sorted(dir(resource)) if name.startswith('RLIMIT_')}
def more(kind):
    soft, hard = resource.getrlimit(kind)
    raised = []
    for change in (lambda wanted: resource.setrlimit(kind, (soft, wanted)),
                   lambda wanted: resource.prlimit(0, kind, (soft, wanted)),
                   lambda wanted: resource.prlimit(os.getpid(), kind, (wanted, wanted))):
        try: change(resource.RLIM_INFINITY)
        except (ValueError, OSError): continue
        raised.append(resource.getrlimit(kind)[1] != hard)
    return any(raised)
raised = [name for name, kind in kinds.items() if more(kind)]
def lowered():
    try: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ValueError, OSError): return False
    return resource.getrlimit(resource.RLIMIT_CORE) != (0, 0)
dumped = []
for crash in (os.abort, lambda: ctypes.string_at(0)):
    child = os.fork()
    if child == 0:
        kept = bytearray(100 * 10**6)
        crash()
    status = os.waitpid(child, 0)[1]
    dumped.append((os.WIFSIGNALED(status), os.WCOREDUMP(status)))
(raised, resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1, lowered(), dumped)
"""
    outcome = run_code(PRELUDE + code)
    assert outcome.value is not None, outcome
    assert outcome.value.text == "([], True, False, [(True, False), (True, False)])"
    for crash in ("os.abort()", "ctypes.string_at(0)"):
        outcome = run_code(f"{PRELUDE}\nkept = bytearray(100 * 10**6)\n{crash}")
        assert outcome.verdict is Verdict.SIGNAL
        assert outcome.artifacts == ()
        assert outcome.refused == ()


_CROWD = [
    ("while True: pass", {Verdict.TIMEOUT_CPU}),
    ("x = []\nwhile True: x.append(bytearray(10**7))", {Verdict.MEMORY}),
    ("os.abort()", {Verdict.SIGNAL}),
    ("1 / 0", {Verdict.USER_ERROR}),
    ("'fine'", {Verdict.OK}),
    ("while True: print('x' * 10**5)", {Verdict.OUTPUT}),
    ("open('x', 'wb').write(bytes(30 * 10**6))", {Verdict.DISK}),
    ("os.fork()\nwhile True: os.fork()", {Verdict.PROCESSES, Verdict.TIMEOUT_CPU}),
]


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Two hundred sandboxes hold some descriptors each, more than many machines grant at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard < 8192 and hard >= 0 else max(soft, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow(seconds=12)
@pytest.mark.timeout(150)
@pytest.mark.usefixtures("many_descriptors")
def test_59_two_hundred_hostile_runs_at_once_get_their_own_verdicts(sandbox: Sandbox) -> None:
    limits = Limits(wall_seconds=100, cpu_seconds=60, memory_mb=60, disk_mb=20, processes=8, output_bytes=20_000)
    brief = limits.model_copy(update={"cpu_seconds": 0.2})
    together = Barrier(200)

    def run(number: int) -> None:
        code, verdicts = _CROWD[number % len(_CROWD)]
        together.wait()
        mine = f"import os\nprint('mine is {number}.', flush=True)\n{code}"
        with sandbox.run(Run("python", mine, limits=brief if Verdict.TIMEOUT_CPU in verdicts else limits)) as its:
            assert its.verdict in verdicts, (code, its)
            assert its.stdout.startswith(f"mine is {number}.\n")

    with ThreadPoolExecutor(200) as threads:
        for _ in threads.map(run, range(200)):
            pass


@pytest.mark.slow(seconds=1)
def test_60_memory_is_counted_anew_for_each_run(run_code: RunCode) -> None:
    fill = "import time\nx = bytearray({} * 10**6)\nx[::4096] = b'1' * len(x[::4096])\ntime.sleep({})"
    for _ in range(2):
        assert run_code(fill.format(300, 60), memory_mb=200, wall_seconds=60).verdict is Verdict.MEMORY
        assert run_code(fill.format(100, 0.1), memory_mb=200, wall_seconds=60).verdict is Verdict.OK
