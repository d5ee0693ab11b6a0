"""From an HTTP request to a detection's result, beside the same detection in this process: ``python -m benchmarks.stacks_http``.

What is subtracted as the queue is a round trip of the same job whose answer is known already: submit, claim, look-up,
completion and the way back, without a detection.
"""

from __future__ import annotations

import gzip
import io
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx

from benchmarks.installation import installation
from benchmarks.stacks import large_tree, packed_sources, small_trees
from benchmarks.table import Line, at_most, show
from services.stacks.engine import DetectOptions, StackEngine
from services.stacks.garbage_collection import collect_rarely
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.local import open_folder
from tests.services.stacks.archives import tar

_TURNS = 15


def main() -> None:
    with (
        installation() as assay,
        assay.process("services.stacks"),
        assay.gateway(ASSAY_EMBEDDED="true", ASSAY_DETECT_ROOTS=str(assay.folder)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=assay.authorization) as client,
    ):
        lines = list(_lines(client, assay.folder))
    show("detect over HTTP, without the queue, and in this process", lines)


def _lines(client: httpx.Client, folder: Path) -> Iterator[Line]:
    engine = StackEngine()
    collect_rarely()  # as the worker does
    small = small_trees(folder / "small")[0]
    packed = gzip.compress(
        tar({str(path.relative_to(small)): path.read_bytes() for path in small.rglob("*") if path.is_file()})
    )
    yield _line("an archive of 38 files", client, _upload(client, packed), _archive(engine, packed))
    large_tree(folder / "large", 20)
    source = {"path": str(folder / "large")}
    yield _line(
        "a folder of 10,000 files", client, source, lambda: engine.detect(open_folder(folder / "large", 20_000))
    )
    body = packed_sources()
    yield _line(f"an archive of {len(body) >> 20} MB", client, _upload(client, body), _archive(engine, body), turns=3)


def _archive(engine: StackEngine, body: bytes) -> Callable[[], object]:
    return lambda: engine.detect(
        open_archive(io.BytesIO(body), ArchiveSelector(engine.tables), SourceLimits()), DetectOptions()
    )


def _upload(client: httpx.Client, body: bytes) -> dict[str, str]:
    return {"file_id": client.post("/v1/files", params={"name": "x"}, content=body, timeout=60).json()["id"]}


def _line(
    what: str, client: httpx.Client, source: dict[str, str], run: Callable[[], object], turns: int = _TURNS
) -> Line:
    known = client.post("/v1/files", params={"name": "x"}, content=gzip.compress(tar({"go.mod": "module x\n"}))).json()
    _asked(client, {"file_id": known["id"]}, "")
    run()
    alone, whole, queue = [], [], []
    for turn in range(turns):  # in turns, so that a busy moment of the machine falls on all three
        alone.append(_taken(run))
        whole.append(_taken(lambda turn=turn: _asked(client, source, f"user.turn{turn}")))  # type: ignore[misc]
        queue.append(_taken(lambda: _asked(client, {"file_id": known["id"]}, "")))
    waited = statistics.median(queue)
    said = f"{what} (the queue: {waited:.1f} ms)"
    return at_most(said, statistics.median(whole) - waited, statistics.median(alone), "ms", 1.5)


def _asked(client: httpx.Client, source: dict[str, str], disable: str) -> None:
    """A job; what it disables makes it another job than the one before."""
    input = {"source": source, "mode": "static", "disable": [disable] if disable else []}
    headers = {"Prefer": "wait=60", "Content-Type": "application/json"}
    answer = client.post(
        "/v1/jobs", content=json.dumps({"kind": "detect", "input": input}), headers=headers, timeout=90
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "succeeded", answer.text


def _taken(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    main()
