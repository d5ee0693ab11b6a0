"""One target in a process with bounds: first the corpus, then what hypothesis makes of it."""

from __future__ import annotations

import signal
import struct
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from shared.bounded_process import Bounds
from shared.fork_server import limit, memory_bytes
from tests.fuzz import corpus
from tests.fuzz.targets import TARGETS, Target

_BOUNDS = Bounds(memory_mb=1024, cpu_seconds=3600, output_mb=256)
_MAX_CPU = 10.0  #: seconds of one input
_LONGEST = 300_000
_NUMBERS = (0, 1, -1, 127, 255, 32_767, 65_535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))
_TOKENS = (
    b"[", b"]", b"{", b"}", b"(", b"<a>", b"</a>", b"\"", b"'", b"`", b"```\n", b"\n", b" ", b"\t", b"\r", b"\0", b",",
    b"::: if x\n", b":::\n", b":++\n", b"{{", b"}}", b"{++", b"&[a]{int}", b"*a ", b"&a ", b"<<: ", b"- ", b"? ", b": ",
    b"a.", b"=", b"subgraph a\n", b"-->", b"!", b"\\", b"\xff", b"\xf0\x9f", b"data: ", b"9", b"-", b"%", b"<!--", b"|",
)  # fmt: skip


class TooSlow(Exception):
    """An input takes too much processor time."""


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds, with some of it lost, repeated, moved or replaced."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        size = draw(st.integers(1, 64))
        match draw(st.integers(0, 6)):
            case 0:
                data[at : at + 1] = draw(st.binary(max_size=3))
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = bytes(data[at : at + size]) * draw(st.integers(1, 300))
            case 3:
                data[at:at] = draw(st.sampled_from(_TOKENS)) * draw(st.sampled_from((1, 2, 50, 5000)))
            case 4:
                number = draw(st.sampled_from(_NUMBERS)) & (2**64 - 1)
                width, order = draw(st.sampled_from((1, 2, 4, 8))), draw(st.sampled_from("<>"))
                packed = struct.pack(f"{order}Q", number)
                data[at : at + width] = packed[:width] if order == "<" else packed[-width:]
            case 5:
                other = draw(st.sampled_from(seeds))
                data[at:] = other[draw(st.integers(0, len(other))) :]
            case _ if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(data[:_LONGEST])


def check(target: Target, data: bytes, current: Path) -> None:
    """Let the target read the input or refuse it; the input is in a file, in case that ends the process."""
    current.write_bytes(data)
    with _timed():
        try:
            target.read(data)
        except target.refuses:
            pass
        except (TooSlow, KeyboardInterrupt):
            raise
        except BaseException:  # a panic of a library is not an Exception
            if not target.contained:
                raise


@contextmanager
def _timed() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, _MAX_CPU)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(signum: int, frame: object) -> None:
    raise TooSlow(f"more than {_MAX_CPU:g} s of processor time")


def main() -> None:
    """Run ``NAMES SEED EXAMPLES SECONDS FILE``: rounds of EXAMPLES of each target until SECONDS are over."""
    names, first, examples, seconds, current = sys.argv[1:]
    signal.signal(signal.SIGPROF, _too_slow)
    warnings.simplefilter("ignore")
    seeds = {name: [*TARGETS[name].seeds(), *corpus.inputs(name)] for name in names.split(",")}
    limit(memory_bytes(), **asdict(_BOUNDS))
    done = 0
    for name, known in seeds.items():
        print(name, file=sys.stderr, flush=True)
        for data in known:
            check(TARGETS[name], data, Path(current))
        ends, number = time.monotonic() + float(seconds), int(first)
        while number == int(first) or time.monotonic() < ends:
            _round(TARGETS[name], known, number, int(examples), Path(current))
            number, done = number + 1, done + int(examples)
    print(f"{done} inputs")


def _round(target: Target, seeds: Sequence[bytes], number: int, examples: int, current: Path) -> None:
    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # shrinking what is slow would take for ever
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(mutated(seeds))
    def reads(data: bytes) -> None:
        check(target, data, current)

    reads()


if __name__ == "__main__":
    main()
