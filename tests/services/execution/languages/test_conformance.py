"""One suite for the kernels of all languages: what a session promises, each of them keeps."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.session import Session
from services.execution.sandbox.run import KernelError
from shared.contracts.execute import Limits, Verdict
from shared.errors import JobCancelled
from tests.services.execution.languages.conftest import Open
from tests.services.execution.languages.samples import SAMPLES, Sample
from tests.services.execution.sandbox.leftovers import children_of

_TOOL = {"python": "numpy", "r": "dplyr", "javascript": "node", "sql": "duckdb"}


@pytest.fixture(params=SAMPLES, ids=lambda sample: sample.language)
def sample(request: pytest.FixtureRequest) -> Sample:
    chosen: Sample = request.param
    return chosen


@pytest.fixture
def session(kernel: Open, sample: Sample) -> Iterator[Session]:
    opened = kernel(sample.language)
    yield opened
    if opened.alive:
        for name in ("x", "y", "again"):
            opened.remove(name)


def test_a_call_leaves_its_names_to_the_next(session: Session, sample: Sample) -> None:
    assert session.execute(sample.define).error is None
    assert session.evaluate(sample.more).text.find("42") >= 0
    assert session.value(sample.more).json == 42
    outcome = session.execute(sample.value)
    assert outcome.value is not None
    assert sample.shown in outcome.value.text


def test_names_are_listed_looked_at_got_set_and_removed(session: Session, sample: Sample) -> None:
    session.execute(sample.define)
    assert "x" in {variable.name for variable in session.list()}
    looks = session.look(["x", "no_such", "x y;--"])
    assert list(looks) == ["x"]
    assert looks["x"].json == 41
    assert session.get("x").json == 41
    session.set("again", {"k": [1, None]})
    assert session.get("again").json == {"k": [1, None]}
    session.set("again", 5)
    assert session.get("again").json == 5
    session.remove("again")
    session.remove("never_there")
    for call in (session.get, session.picture):
        with pytest.raises(KernelError):
            call("again")
    assert session.look(["again"]) == {}
    assert session.look([]) == {}


def test_it_says_what_it_is(session: Session, sample: Sample) -> None:
    assert session.info().language == sample.language
    assert session.info().version
    assert session.packages()[_TOOL[sample.language]]


def test_what_is_printed_comes_out_apart_and_live(session: Session, sample: Sample) -> None:
    if sample.prints is None:
        pytest.skip("this language prints nothing")
    heard: list[tuple[str, str]] = []
    outcome = session.execute(sample.prints, lambda stream, text: heard.append((stream, text)))
    assert outcome.stdout == "a é b\n"
    assert outcome.stderr == "oops\n"
    assert ("stdout", "a é b\n") in heard


def test_displays_come_out_in_their_order(session: Session, sample: Sample) -> None:
    if sample.displays is None:
        pytest.skip("this language shows nothing")
    shown = session.execute(sample.displays).displays
    assert len(shown) == 2
    assert shown[0].text == "one"


def test_a_figure_is_a_look_without_data_and_a_picture_when_asked(session: Session, sample: Sample) -> None:
    if sample.figure is None:
        pytest.skip("this language draws nothing")
    session.execute(sample.figure)
    assert session.look(["x"])["x"].kind == "figure"
    assert session.picture("x").startswith(b"\x89PNG")
    session.execute(sample.define)
    with pytest.raises(KernelError, match="not a figure"):
        session.picture("x")


def test_an_error_is_told_and_the_kernel_goes_on(session: Session, sample: Sample) -> None:
    session.execute(sample.define)
    outcome = session.execute(sample.fails)
    assert outcome.verdict is Verdict.USER_ERROR
    assert outcome.error is not None
    assert sample.error in outcome.error.message
    assert session.value(sample.more).json == 42
    with pytest.raises(KernelError):
        session.evaluate("no_such_name_at_all")
    with pytest.raises(KernelError):
        session.value("1 +")


def test_an_interrupt_ends_the_call_and_not_the_kernel(session: Session, sample: Sample) -> None:
    session.execute(sample.define)
    done = Event()

    def interrupt() -> None:
        while not done.wait(0.2):
            session.interrupt()

    thread = Thread(target=interrupt)
    thread.start()
    outcome = session.execute(sample.forever)
    done.set()
    thread.join()
    assert outcome.verdict is Verdict.USER_ERROR, outcome
    assert outcome.error is not None
    assert session.value(sample.more).json == 42


@pytest.mark.slow(seconds=1.5)
def test_too_long_a_call_is_a_timeout_and_the_kernel_lives(sandbox: Sandbox, sample: Sample) -> None:
    if not sandbox.languages()[sample.language]:
        pytest.skip("not installed")
    with sandbox.session(sample.language, Limits(wall_seconds=1.2), {}) as session:
        session.execute(sample.define)
        for forever in filter(None, (sample.forever, sample.waits)):
            assert session.execute(forever).verdict is Verdict.TIMEOUT_WALL
            assert session.value(sample.more).json == 42


def process_of(session: Session) -> int:
    """The kernel itself, as this machine sees it: the child of its sandbox's first process."""
    assert isinstance(session, Session)
    if os.environ.get("ASSAY_SANDBOX_RUNTIME") == "gvisor":
        pytest.skip("the kernel is a process inside gVisor, which nothing outside can signal")
    (kernel,) = children_of(session._kernel.container.init)
    return kernel


@pytest.mark.slow
def test_an_interrupt_that_comes_too_late_is_for_no_call(session: Session, sample: Sample) -> None:
    session.execute(sample.define)
    kernel = process_of(session)
    for _ in range(20):
        for _ in range(5):
            os.kill(kernel, signal.SIGINT)
        assert session.value(sample.more).json == 42


@pytest.mark.slow(seconds=1)
def test_interrupts_at_any_moment_end_calls_and_never_the_kernel(session: Session, sample: Sample) -> None:
    session.execute(sample.define)
    kernel, done = process_of(session), Event()

    def interrupt() -> None:
        while not done.wait(0.001):
            os.kill(kernel, signal.SIGINT)

    thread = Thread(target=interrupt)
    thread.start()
    try:
        for _ in range(200):
            with suppress(KernelError):
                session.value(sample.more)
            assert session.alive
    finally:
        done.set()
        thread.join()
    assert session.value(sample.more).json == 42


def test_code_that_hears_interrupts_itself_takes_them_from_its_own_call_only(kernel: Open) -> None:
    session = kernel("javascript")
    assert session.execute("process.on('SIGINT', () => {}); 1").error is None
    assert session.value("1 + 1").json == 2
    for _ in range(20):
        os.kill(process_of(session), signal.SIGINT)
        assert session.value("1 + 1").json == 2


def test_a_cancelled_call_raises_and_ends_the_kernel(sandbox: Sandbox, sample: Sample) -> None:
    if not sandbox.languages()[sample.language]:
        pytest.skip("not installed")
    with sandbox.session(sample.language, Limits(), {}) as session:
        cancelled = Event()
        cancelled.set()
        with pytest.raises(JobCancelled):
            session.execute(sample.forever, cancelled=cancelled)


@pytest.mark.slow
def test_a_kernel_that_dies_in_the_middle_is_a_verdict_and_says_so_afterwards(kernel: Open, sample: Sample) -> None:
    if sample.dies is None:
        pytest.skip("this language cannot end its process")
    session = kernel(sample.language)
    session.execute(sample.define)
    assert session.execute(sample.dies).verdict is not Verdict.OK
    for ask in (lambda: session.get("x"), lambda: session.look(["x"]), session.list, lambda: session.set("x", 1)):
        with pytest.raises(KernelError, match="open a new session"):
            ask()
    assert kernel(sample.language).value("1 + 1").json == 2


@pytest.mark.slow
def test_a_value_of_many_bytes_is_a_bounded_look_and_does_not_cross(sandbox: Sandbox, sample: Sample) -> None:
    if not sandbox.languages()[sample.language]:
        pytest.skip("not installed")
    with sandbox.session(sample.language, Limits(memory_mb=3000, wall_seconds=100, cpu_seconds=100), {}) as session:
        assert session.execute(sample.large).error is None
        look = session.look(["x"])["x"]
        assert len(look.text) < 20_000
        assert len(look.head) <= 100
        if look.kind != "table":
            assert look.kind == "opaque"
            value = session.get("x")
            assert value.kind == "opaque"
            with pytest.raises(KernelError, match="too large"):
                session.set("again", replace(value))


@pytest.mark.slow(seconds=3)
def test_a_hundred_calls_leave_room_for_more(session: Session, sample: Sample) -> None:
    for _ in range(100):
        assert session.execute(sample.define).error is None
    session.set("y", [1, 2])
    for number in range(50):
        session.set("again", [number])
        session.get("again")
    assert session.get("again").json == [49]
