"""Documents compared with ipykernel, in one run: ``python -m benchmarks.documents [PART ...]``.

The peer is installed from PyPI into an environment of its own (once, under the user's cache). Parts: ``kernels`` (with
the peer), ``views``, ``rendering``, ``reading``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jinja2
from rich.console import Console

from benchmarks.peer import peer_python
from benchmarks.table import Line, at_most, show
from services.execution.documents.document import Documents
from services.execution.documents.llm import messages
from services.execution.documents.parse.reader import parse
from services.execution.documents.resolve import values
from services.execution.documents.resolve.renderer import Renderer, Seen
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.session import Session
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.contracts.document import DocumentInput
from shared.contracts.execute import Limits
from tests.support.context import MemoryContext

PEER = ("ipykernel==7.4.0", "jupyter-client==8.10.0")
PARTS = ("kernels", "views", "rendering", "reading")
CHUNK = "```python exec\nx = 4\n```\n"
MILLION = """
import numpy as np, pandas as pd
n = 1_000_000
numbers = np.arange(n)
frame = pd.DataFrame({
    "id": numbers,
    "value": np.random.rand(n),
    "when": pd.date_range("2024-01-01", periods=n, freq="s"),
    "kind": pd.Categorical.from_codes(numbers % 3, list("abc")),
    "name": np.char.add("row-", numbers.astype(str)),
    "flag": numbers % 2 == 0,
})
"""


def median_ms(work: Callable[[], object], times: int) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent) * 1000


def under(what: str, ours: float, most: float, peer: str = "") -> Line:
    """Return a line whose target is an absolute time, in milliseconds."""
    return Line(what, f"{ours:.2f} ms", peer, ours / most, f"<= {most:g} ms", ours <= most)


def peer(times: int) -> dict[str, float] | None:
    python = peer_python(PEER)
    if python is None:
        return None
    script = Path(__file__).with_name("documents_peer.py")
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "JUPYTER_PLATFORM_DIRS": "1", "PYTHONWARNINGS": "ignore"}
        made = subprocess.run(
            [str(python), "-I", str(script), str(times)], check=True, capture_output=True, env=environment, timeout=120
        )
    measured: dict[str, float] = json.loads(made.stdout)
    return {name: seconds * 1000 for name, seconds in measured.items()}


def job(sandbox: Sandbox, renderer: Renderer, markdown: str) -> None:
    """One whole document job, without a server around it."""
    context = MemoryContext().context("document")
    result = Documents(sandbox, renderer)(context, DocumentInput(markdown=markdown))
    assert all(block.status == "ok" for block in result.blocks), result.blocks


def kernels(sandbox: Sandbox, renderer: Renderer, session: Session, times: int) -> list[Line]:
    execute = median_ms(lambda: session.execute("x = 4"), times)
    fetch = median_ms(lambda: session.look(["x"]), times)
    cold = []
    for _ in range(5):
        sandbox.wait_ready()
        began = time.perf_counter()
        job(sandbox, renderer, CHUNK)
        cold.append((time.perf_counter() - began) * 1000)
    many = 50
    sandbox.wait_ready()
    began = time.perf_counter()
    job(sandbox, renderer, "".join(f"```python exec\nx{number} = {number}\n```\n\n" for number in range(many)))
    each = ((time.perf_counter() - began) * 1000 - statistics.median(cold)) / (many - 1)
    lines = [
        under("a chunk on a warm session", execute, 3),
        under("a chunk in a document of 50, all told", each, 10),
        under("a variable's fetch for a prompt", fetch, 2),
    ]
    seconds = peer(times)
    if seconds is None:
        Console().print("the peer cannot be installed here: its lines are left out")
        return lines
    first = statistics.median(cold)
    return [
        *lines,
        at_most("a chunk on a warm session", execute, seconds["chunk"], "ms", 0.35),
        at_most("a variable's fetch", fetch, seconds["fetch"], "ms", 0.35),
        at_most("first chunk from a cold job", first, seconds["first"], "ms", 0.3),
    ]


def views(session: Session) -> list[Line]:
    assert session.execute(MILLION).error is None
    seen = lambda: values.template_value(session.look(["frame"])["frame"], "python")  # noqa: E731
    plain = median_ms(seen, 15)
    moved = median_ms(lambda: session.get("frame"), 2)
    return [
        under("view of a frame of 1,000,000 x 6", plain, 20),
        at_most("the same view against moving the frame", plain, moved, "ms", 0.1),
    ]


def rendering(renderer: Renderer, times: int) -> list[Line]:
    text = "Describe {{ x }} and {{ y }}"
    seen: dict[str, Seen] = {"x": {"kind": "json", "json": 4}, "y": {"kind": "json", "json": "hello"}}
    whole = median_ms(lambda: messages.render(renderer, text, lambda _names, _whole: seen), times)
    beside = statistics.median(_filled(renderer, text, seen) for _ in range(times)) * 1000
    plain = jinja2.Environment(autoescape=False).from_string(text)
    bare = median_ms(lambda: plain.render(x=4, y="hello"), times)
    return [
        under("a message, one at once after the other", whole, 20),
        under("a message next to its fork's start", beside, 1, f"jinja2 alone {bare:.3f} ms"),
    ]


def _filled(renderer: Renderer, text: str, seen: dict[str, Seen]) -> float:
    """Seconds from a fork that listens to its text."""
    with renderer.fork() as fork:
        time.sleep(0.02)  # for as long, and longer, models think between two messages
        began = time.perf_counter()
        fork.names(text)
        fork.fill(seen)
        return time.perf_counter() - began


def reading() -> list[Line]:
    page = Path(__file__).resolve().parent.parent.joinpath("docs", "documents.md").read_text()
    source = (page + CHUNK + "\n::: describe {{ x }} :::\n\n") * (1_000_000 // len(page) + 1)
    source = source[:1_000_000]
    return [under("reading 1 MB of Markdown", median_ms(lambda: parse(source, "stencila"), 5), 150)]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments.add_argument("--times", type=int, default=60)
    given = arguments.parse_args()
    given.parts = given.parts or list(PARTS)
    lines: list[Line] = []
    if "reading" in given.parts:
        lines += reading()
    if "rendering" in given.parts:
        with Renderer() as renderer:
            lines += rendering(renderer, given.times)
    if {"kernels", "views"} & set(given.parts):
        with open_sandbox(SandboxSettings(slots=1)) as sandbox, Renderer() as renderer:
            sandbox.wait_ready()
            with sandbox.session("python", Limits(memory_mb=2048, wall_seconds=60), {}) as session:
                lines += kernels(sandbox, renderer, session, given.times) if "kernels" in given.parts else []
                lines += views(session) if "views" in given.parts else []
    show("Documents", lines)


if __name__ == "__main__":
    main()
