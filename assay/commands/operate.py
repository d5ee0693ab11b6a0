"""`assay queues`, `workers`, `settings` and `stats`: what waits, who works, with what, and what it came to."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import Parameter

from assay.calls import rest
from assay.commands import show
from assay.commands.session import current

_Grouping = Literal[
    "kind", "state", "outcome", "key", "tenant", "model", "provider", "role", "prompt", "source", "served"
]


def queues() -> int:
    """Show the waiting and running jobs, by kind of job."""
    names = ["kind", "queued", "running", "oldest_seconds", "submitted_last_hour", "ended_last_hour", "workers"]
    _table(current().client.fetch(rest.queues()), names)
    return 0


def workers() -> int:
    """Show the workers of the last ten minutes."""
    names = ["service", "id", "alive", "concurrency", "running", "version", "seen_at"]
    _table(current().client.fetch(rest.workers()), names)
    return 0


def settings() -> int:
    """Show the gateway's settings, and the source of each."""

    def text(page: Any) -> str:
        rows = [[each["name"], each["value"] if each["told"] else "(hidden)", each["source"]] for each in page["items"]]
        return show.table(["name", "value", "source"], rows)

    current().show(current().client.fetch(rest.settings()), text)
    return 0


def stats(
    *,
    by: Annotated[_Grouping, Parameter(help="served: which models answered for which")] = "kind",
    bucket: Annotated[Literal["minute", "hour", "day", "all"], Parameter(help="all: one row a group")] = "day",
    since: Annotated[str | None, Parameter(help="RFC 3339; by default a week ago")] = None,
    until: Annotated[str | None, Parameter(help="RFC 3339; by default now")] = None,
    source: Annotated[Literal["live", "replay", "scripted"] | None, Parameter(help="only calls of this one")] = None,
) -> int:
    """Add up jobs and model calls."""
    if by == "served":
        current().show(current().client.fetch(rest.served(since, until, source)), _served)
        return 0
    names = ["at", "group", "jobs", "succeeded", "failed", "turns_mean", "run_p50", "input_tokens", "output_tokens"]
    _table(current().client.fetch(rest.stats(by, bucket, since, until, source)), [*names, "cost_usd"])
    return 0


def _served(page: Any) -> str:
    def name(model: Any) -> str | None:
        return None if model is None else f"{model['provider']}/{model['model']}"

    rows = [
        [name(row["requested"]), name(row["served"]), row["requests"], row["jobs"], ", ".join(row["causes"])]
        for row in page["items"]
    ]
    return show.table(["requested", "served", "requests", "jobs", "causes"], rows)


def _rounded(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _table(answer: Any, names: list[str]) -> None:
    def text(page: Any) -> str:
        rows = [[_rounded(row.get(name)) for name in names] for row in page["items"]]
        return show.table([name.replace("_", " ") for name in names], rows)

    current().show(answer, text)
