"""What untrusted input makes us compute ends at its limits, and leaves nothing for the next one."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Event as Flag
from typing import Any, BinaryIO

import pytest
from pydantic import JsonValue

from shared import bounded_process, confinement
from shared.bounded_process import BoundExceeded, Bounds, Cancelled, TaskLost, call, call_async, run, started
from shared.fork_server import remove_leftovers

_SMALL = Bounds(memory_mb=128, cpu_seconds=0.5, wall_seconds=20.0, output_mb=1)
_BURNING = Bounds(cpu_seconds=2.0)


def doubled(argument: JsonValue) -> JsonValue:
    return [argument, argument]


def burns(argument: JsonValue) -> JsonValue:
    return (7**60_000_000) % 7


def hoards(argument: JsonValue) -> JsonValue:
    return len(bytearray(1 << 30))


def waits(argument: JsonValue) -> JsonValue:
    time.sleep(600)
    return None


def talks(argument: JsonValue) -> JsonValue:
    return "x" * (2 << 20)


def breaks(argument: JsonValue) -> JsonValue:
    raise ValueError(argument)


def remembers(argument: JsonValue) -> JsonValue:
    seen = globals().setdefault("_SEEN", [])
    seen.append(argument)
    return list(seen)


def surroundings(argument: JsonValue) -> JsonValue:
    sockets: list[JsonValue] = [number for number in range(256) if _is_socket(number)]
    return {"environment": dict(os.environ), "sockets": sockets, "parent": os.getppid()}


def threads(argument: JsonValue) -> JsonValue:
    import polars as pl  # noqa: PLC0415 - in the process that is started
    import pyarrow as pa  # noqa: PLC0415

    return [pl.thread_pool_size(), pa.cpu_count(), pa.io_thread_count()]


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def copies(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    output.write(source.read() * int(str(argument)))
    return "copied"


def stalls(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    time.sleep(600)
    return None


def test_a_value_is_made_of_a_value() -> None:
    assert call(doubled, {"a": "\u2028"}, _SMALL) == [{"a": "\u2028"}, {"a": "\u2028"}]


def test_large_values_pass_both_ways() -> None:
    large = "y" * 3_000_000
    assert call(doubled, large, Bounds()) == [large, large]


@pytest.mark.parametrize(
    ("task", "reason"),
    [(burns, "too long"), (hoards, "memory"), (talks, "too much in it"), (breaks, "damaged")],
)
def test_what_takes_more_than_it_may_ends(task: bounded_process.ValueTask, reason: str) -> None:
    with pytest.raises(BoundExceeded, match=reason):
        call(task, "words", _SMALL)
    assert call(doubled, 1, _SMALL) == [1, 1]


def test_what_waits_ends_by_the_clock() -> None:
    with pytest.raises(BoundExceeded, match="too long"):
        call(waits, None, Bounds(wall_seconds=0.3))


def test_nothing_of_one_task_is_left_for_the_next() -> None:
    assert [call(remembers, number, _SMALL) for number in range(3)] == [[0], [1], [2]]


def test_it_has_no_environment_and_no_descriptor_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "secret")
    call(doubled, 1, _SMALL)
    with suppress(BoundExceeded), ThreadPoolExecutor(1) as threads:
        other = threads.submit(call, waits, None, Bounds(wall_seconds=2.0))
        seen = call(surroundings, None, _SMALL)
        assert not other.done()
    assert isinstance(seen, dict)
    assert "GROQ_API_KEY" not in str(seen["environment"])
    assert isinstance(seen["sockets"], list)
    assert len(seen["sockets"]) == 1  # its caller's


def test_a_task_has_a_few_threads_however_many_cores_there_are() -> None:
    for count in call(threads, None, Bounds()):  # type: ignore[union-attr]
        assert isinstance(count, int)
        assert 1 <= count <= 4


def test_every_pool_of_threads_is_bounded() -> None:
    pools = {"POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "ARROW_IO_THREADS"}
    seen: Any = call(surroundings, None, Bounds())
    assert {name: 1 <= int(seen["environment"][name]) <= 4 for name in pools} == dict.fromkeys(pools, True)


def test_a_server_that_was_killed_is_started_again() -> None:
    bounded_process._SERVERS.stop()  # in the new one, one fork waits ahead: for tasks without files
    seen = call(surroundings, None, _SMALL)
    assert isinstance(seen, dict)
    server = int(str(seen["parent"]))
    _until(lambda: _children(server) == 1)  # the fork that waits ahead may still hold the server's socket
    waiting = Path("/proc", Path(f"/proc/{server}/task/{server}/children").read_text().strip())
    os.kill(server, signal.SIGKILL)
    _until(lambda: not waiting.exists())
    folder = Path(f"/proc/{server}")
    state = folder / "stat"
    _until(lambda: state.read_text().rpartition(")")[2].split()[0] == "Z")
    _until(lambda: len(list((folder / "task").iterdir())) == 1)  # its threads hold its descriptors until they end
    assert call(doubled, 1, _SMALL) == [1, 1]


def test_files_are_read_and_written_within_the_bound(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"abc")
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("w+b") as output:
        assert run(copies, 2, source, output, _SMALL, Flag()) == "copied"
        assert (tmp_path / "out").read_bytes() == b"abcabc"
    with (
        (tmp_path / "in").open("rb") as source,
        (tmp_path / "out").open("w+b") as output,
        pytest.raises(BoundExceeded, match="too much in it"),
    ):
        run(copies, 500_000, source, output, _SMALL, Flag())


def test_who_cancels_does_not_wait(tmp_path: Path) -> None:
    cancelled = Flag()
    cancelled.set()
    (tmp_path / "in").touch()
    with (
        (tmp_path / "in").open("rb") as source,
        (tmp_path / "out").open("w+b") as output,
        pytest.raises(Cancelled),
    ):
        run(stalls, None, source, output, Bounds(), cancelled)


def opens(argument: JsonValue) -> JsonValue:
    try:
        with open(str(argument), "rb") as file:
            file.read(1)
    except OSError as error:
        return type(error).__name__
    return "opened"


def reaches(argument: JsonValue) -> JsonValue:
    """Try what a task that was taken over would."""
    acts: dict[str, Callable[[], object]] = {
        "signal": lambda: os.kill(os.getppid(), 0),
        "group": lambda: os.killpg(0, 0),
        "all": lambda: os.kill(-1, 0),
        "descriptor": lambda: os.pidfd_open(os.getppid()),
        "program": lambda: os.execv("/bin/true", ["true"]),
        "fork": os.fork,
        "network": socket.socket,
        "memory": lambda: os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY),
        "environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "descriptors": lambda: os.listdir(f"/proc/{os.getppid()}/fd"),
        "limits": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)),
        "temporary": Path("/tmp/of-a-task").touch,
    }
    outcomes: dict[str, JsonValue] = {}
    for name, act in acts.items():
        try:
            act()
        except PermissionError:
            continue
        except OSError as error:
            outcomes[name] = type(error).__name__
        else:
            outcomes[name] = "done"
    return outcomes


def spools(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    """Keep a temporary file, read the source by its number, and return the folder."""
    with NamedTemporaryFile() as kept:
        kept.write(b"kept")
        kept.flush()
        mode = Path(kept.name).parent.stat().st_mode & 0o777
        content = Path(f"/proc/self/fd/{source.fileno()}").read_bytes()
        return [str(Path(kept.name).parent), mode, content.decode(), opens(argument)]


def computes_in_threads(argument: JsonValue, source: BinaryIO, output: BinaryIO) -> JsonValue:
    import duckdb  # noqa: PLC0415 - in the process that is started

    with ThreadPoolExecutor(2) as pool:
        total = sum(pool.map(abs, range(-10, 0)))
    return [total, duckdb.connect().execute("SELECT sum(range) FROM range(100000)").fetchall()[0][0]]


needs_landlock = pytest.mark.skipif(not confinement.Confinement()._abi, reason="this kernel has no Landlock")


@needs_landlock
def test_a_task_opens_no_file_but_the_codes(tmp_path: Path) -> None:
    secret, home = tmp_path / "secret", Path(confinement._ROOT) / ".assay" / "blobs"
    secret.write_text("of another tenant")
    assert call(opens, str(secret), _SMALL) == "PermissionError"
    assert call(opens, "/etc/passwd", _SMALL) == "PermissionError"
    assert call(opens, confinement._ROOT, _SMALL) == "PermissionError"
    assert call(opens, str(home), _SMALL) in ("PermissionError", "FileNotFoundError")
    assert call(opens, str(Path(confinement._ROOT) / "pyproject.toml"), _SMALL) == "PermissionError"
    assert call(opens, confinement.__file__, _SMALL) == "opened"


@needs_landlock
def test_a_task_reaches_no_other_process_and_no_network() -> None:
    assert call(reaches, None, _SMALL) == {}
    assert call(doubled, 1, _SMALL) == [1, 1]


@needs_landlock
def test_what_a_task_may_not_do_is_found_by_trying() -> None:
    crossed = call(confinement.tried, None, _SMALL)
    assert crossed == {
        "paths": True, "signals": True, "network": True, "programs": True, "user": os.getuid()
    }  # fmt: skip


@needs_landlock
def test_a_task_with_files_has_a_folder_of_its_own_which_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"abc")
    (tmp_path / "other").touch()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("w+b") as output:
        seen = run(spools, str(tmp_path / "other"), source, output, _SMALL, Flag())
        assert isinstance(seen, list)
        folder, *rest = seen
        assert rest == [0o700, "abc", "PermissionError"]
        _until(lambda: not Path(str(folder)).exists())


def test_a_task_may_have_threads(tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as output:
        assert run(computes_in_threads, None, source, output, Bounds(), Flag()) == [55, 4999950000]


def test_folders_of_servers_that_are_no_more_are_removed(tmp_path: Path) -> None:
    names = [f"assay-task-{os.getpid()}-mine", "assay-task-4999999-dead", "assay-task-other"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "whole.sqlite").touch()
    remove_leftovers(str(tmp_path))
    assert sorted(each.name for each in tmp_path.iterdir()) == [names[0], names[2]]


def test_an_event_loop_goes_on_meanwhile() -> None:
    longest = 0.0

    async def ticks() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            longest = max(longest, time.monotonic() - before)

    async def both() -> None:
        ticking = asyncio.create_task(ticks())
        with pytest.raises(BoundExceeded, match="too long"):
            await call_async(burns, None, _BURNING)
        assert await call_async(doubled, 1, _SMALL) == [1, 1]
        ticking.cancel()

    asyncio.run(both())
    assert longest < 1.5  # the task took two seconds of processor time


def test_a_caller_that_is_cancelled_ends_its_task() -> None:
    bounded_process._SERVERS.stop()  # in the new one, one fork waits ahead: for tasks without files

    async def cancel() -> None:
        async with started(surroundings, None, Bounds()) as process:
            seen = await process.answer()
        assert isinstance(seen, dict)
        server = int(str(seen["parent"]))
        waiting = asyncio.create_task(call_async(waits, None, Bounds()))
        await asyncio.to_thread(_until, lambda: _children(server) == 2)
        waiting.cancel()
        await asyncio.to_thread(_until, lambda: _children(server) == 1)

    asyncio.run(cancel())


def test_a_task_with_files_and_one_without_have_forks_of_their_own_that_wait(tmp_path: Path) -> None:
    bounded_process._SERVERS.stop()
    (tmp_path / "in").write_bytes(b"abc")
    for _ in range(2):
        with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("w+b") as output:
            assert run(copies, 2, source, output, _SMALL, Flag()) == "copied"
        seen: Any = call(surroundings, None, _SMALL)
        _until(lambda: _children(seen["parent"]) == 2)  # noqa: B023 - called within the loop
    assert len(seen["sockets"]) == 1


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _children(pid: int) -> int:
    """Forks of the server: the tasks, and the one that waits for a task."""
    return len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def test_the_server_ends_with_who_started_it() -> None:
    reading, writing = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        seen = call(surroundings, None, _SMALL)
        writing.sendall(str(seen["parent"] if isinstance(seen, dict) else 0).encode())
        os._exit(0)
    server = int(reading.recv(20))
    os.waitpid(pid, 0)
    reading.close()
    writing.close()
    assert server != os.getpid()
    _until(lambda: not Path(f"/proc/{server}").exists())


def test_a_server_that_is_ended_meanwhile_blames_nobodys_input() -> None:
    bounded_process._SERVERS.stop()  # in the new one, one fork waits ahead: for tasks without files
    seen = call(surroundings, None, _SMALL)
    assert isinstance(seen, dict)
    server = int(str(seen["parent"]))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(call, waits, None, Bounds())
        _until(lambda: _children(server) == 2)
        os.kill(server, signal.SIGKILL)
        with pytest.raises(TaskLost):
            waiting.result(30)
