"""``python -m benchmarks.real_model`` (``make model-server``): see ``docs/llm.md``."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from assay import Client
from benchmarks.real_model import cases, honest
from benchmarks.real_model.cases import Case
from benchmarks.real_model.figures import overhead
from benchmarks.real_model.installed import installed
from benchmarks.real_model.parts import model_file, server_binary
from benchmarks.real_model.server import ModelServer
from benchmarks.table import Line, at_most, show, within
from tests.support.wait import until

_PATIENCE = 150.0  #: seconds for a job, whose budget is 90
_FREE_SECONDS, _RECOVERY_SECONDS = 1.0, 5.0
_AT_ONCE = 3


def main() -> int:
    binary, model = server_binary(), model_file()
    with tempfile.TemporaryDirectory(prefix="assay-model-", dir="/tmp") as folder:
        server = ModelServer(binary, model, Path(folder) / "server.log")
        try:
            _say(f"llama.cpp answers after {server.start():.1f} s")
            with installed(server.url) as client:
                lines = _lines(client, server)
        except honest.Dishonest as fault:
            _say(f"FAILED: {fault}")
            return 1
        finally:
            server.kill()
    show("A real model server, one slot", lines)
    return 0 if all(line.met for line in lines) else 1


def _lines(client: Client, server: ModelServer) -> list[Line]:
    cases.collection(client)
    for case in cases.CASES:
        _finish(client, case)
    _reproducible(client)
    _together(client)
    _overflow(client)
    freed = _cancel(client, server)
    recovered = _killed(client, server)
    ours, bare = overhead(server)
    return [
        at_most("a short call, against a bare client", ours * 1000, bare * 1000, "ms", 1.5),
        within("slot free after a cancel", freed, _FREE_SECONDS),
        within("first call answered after the server is back", recovered, _RECOVERY_SECONDS),
    ]


def _finish(client: Client, case: Case) -> None:
    began = time.monotonic()
    job = case.submit(client)
    view = honest.checked(client, job, _PATIENCE, case.lies)
    calls = len(job.llm_calls().items)
    _say(f"{case.name}: {honest.outcome(view)}, {calls} calls, {time.monotonic() - began:.1f} s")


def _reproducible(client: Client) -> None:
    """Run two jobs with the same seed: the ledger records the seed; whether they agree is reported, not promised."""
    texts = []
    for _ in range(2):
        job = cases.document(client, reproducible=True)
        view = honest.checked(client, job, _PATIENCE, honest.document_lies)
        asked = [call.parameters for call in job.llm_calls().items]
        if any((given.get("temperature"), given.get("seed")) != (0, 1) for given in asked):
            raise honest.Dishonest(f"a reproducible job was asked with {asked}")
        texts.append((view.result or {}).get("markdown"))
    agree = "the same answer" if texts[0] == texts[1] else "different answers"
    _say(f"two reproducible jobs: {honest.outcome(view)}, {agree}")


def _together(client: Client) -> None:
    """More jobs than the server has slots: they wait on our side, and none times out for it."""
    jobs = [cases.story(client) for _ in range(_AT_ONCE)]
    for job in jobs:
        view = honest.checked(client, job, _PATIENCE * _AT_ONCE, honest.document_lies)
        outcomes = [call.outcome for call in job.llm_calls().items]
        queued = max((call.queue_seconds or 0 for call in job.llm_calls().items), default=0)
        if set(outcomes) & {"timed_out", "busy"}:
            raise honest.Dishonest(f"a document among {_AT_ONCE} at once: {outcomes}")
        _say(f"one of {_AT_ONCE} at once: {honest.outcome(view)}, waited {queued:.2f} s for the slot")


def _overflow(client: Client) -> None:
    """A prompt of several windows is shortened, which the job says, or refused as too long."""
    job = cases.long_document(client)
    view = honest.checked(client, job, _PATIENCE, honest.document_lies)
    shortened = [event for event in job.events() if event.type == "prompt_shortened"]
    errors = honest.errors_in(view.result) if view.result else []
    if not shortened and view.error is None and "context_too_long" not in errors:
        raise honest.Dishonest(f"a prompt that cannot fit was not shortened, and nobody was told: {errors}")
    _say(f"context overflow: {honest.outcome(view)}, shortened {len(shortened)} times")


def _cancel(client: Client, server: ModelServer) -> float:
    """Seconds from the cancel until the server's slot is free."""
    job = cases.story(client)
    until(server.is_busy, "the model at work", 60)
    began = time.monotonic()
    job.cancel()
    until(lambda: not server.is_busy(), "a free slot", 60)
    freed = time.monotonic() - began
    if job.wait(30).state.value != "cancelled":
        raise honest.Dishonest(f"a cancelled job ended as {job.state.value}")
    _say(f"cancel: slot free after {freed:.2f} s")
    return freed


def _killed(client: Client, server: ModelServer) -> float:
    """The server dies in the middle of an answer and comes back; seconds from then to an answer."""
    job = cases.story(client)
    until(server.is_busy, "the model at work", 60)
    server.kill()
    started = server.start()
    back = time.monotonic()
    view = honest.checked(client, job, _PATIENCE, honest.document_lies)
    outcomes = [call.outcome for call in job.llm_calls().items]
    if "ok" not in outcomes:
        raise honest.Dishonest(f"the server came back after {started:.1f} s, and no call was answered: {outcomes}")
    _say(f"kill -9 and a restart of {started:.1f} s: {honest.outcome(view)}, calls {', '.join(outcomes)}")
    answered = next(call for call in job.llm_calls().items if call.outcome == "ok")
    return max(0.0, time.monotonic() - back - answered.seconds)


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
