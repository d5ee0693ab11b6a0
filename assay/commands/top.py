"""`assay top`: queues, workers, providers and tenants of a server on one screen that renews itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from assay import interrupts
from assay.calls import rest
from assay.commands.session import current, visible

if TYPE_CHECKING:
    from rich.console import Group

    from assay import Client
    from assay.calls.call import ApiCall

_MAX_ROWS = 12  #: of each part: what is left out is counted
_SHORTEST = 0.5  # seconds


@dataclass(frozen=True)
class Part:
    """One table of the screen."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


def top(
    *,
    seconds: Annotated[float, Parameter(help="Between two looks")] = 2.0,
    once: Annotated[bool, Parameter(help="Print one screen and end, as where no terminal is", negative="")] = False,
) -> int:
    """Watch queues, workers, providers and, with the scope admin, today's tenants. Ctrl-C ends it."""
    session = current()
    if session.json:
        session.show(_look(session.client), lambda _: None)
        return 0
    if once or not sys.stdout.isatty():
        for part in _parts(_look(session.client)):
            session.out("\n".join(["\t".join([part.title, *part.columns]), *_lines(part), ""]))
        return 0
    _watch(session.client, max(seconds, _SHORTEST))
    return 0


def _watch(client: Client, seconds: float) -> None:
    """Redraw until the user stops; while the server is unreachable the last screen stays, with the reason."""
    from rich.live import Live  # noqa: PLC0415 - 60 ms

    from assay.errors import APIConnectionError  # noqa: PLC0415

    pages, trouble = _look(client), ""
    with Live(_screen(client, pages, trouble), screen=True, auto_refresh=False) as live:
        try:
            while True:
                time.sleep(seconds)
                try:
                    pages, trouble = _look(client), ""
                except APIConnectionError as error:
                    trouble = str(error)
                live.update(_screen(client, pages, trouble), refresh=True)
        except KeyboardInterrupt:
            interrupts.is_handled()


def _look(client: Client) -> dict[str, Any]:
    """Return the server's figures, without those whose scope the key lacks."""
    from assay.errors import MissingScope  # noqa: PLC0415

    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    calls: dict[str, ApiCall[Any]] = {
        "queues": rest.queues(),
        "workers": rest.workers(),
        "providers": rest.providers(),
        "tenants": rest.stats("tenant", "day", midnight.isoformat(), (midnight + timedelta(days=1)).isoformat()),
    }
    pages: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            pages[name] = client.fetch(call)
        except MissingScope:
            pages[name] = {"items": []}
    return pages


def _parts(pages: Mapping[str, Any]) -> list[Part]:
    queues = [
        [row[name] for name in ("kind", "queued", "running", "oldest_seconds", "ended_last_hour", "failed_last_hour")]
        for row in pages["queues"]["items"]
    ]
    workers = [
        [row["service"], row["id"], f"{row['running']}/{row['concurrency']}", _alive(row), row["version"]]
        for row in sorted(pages["workers"]["items"], key=lambda row: (row["alive"], row["service"]))
    ]
    providers = [
        [row["name"], row["state"], row["until"], row["last_error"]]
        for row in pages["providers"]["items"]
        if row["configured"]
    ]
    tenants = [
        [row["group"], row["jobs"], row["failed"], row["wait_p95"], _tokens(row), row["cost_usd"]]
        for row in sorted(pages["tenants"]["items"], key=lambda row: -row["jobs"])
    ]
    return [
        Part("queues", ("kind", "queued", "running", "oldest s", "ended/h", "failed/h"), queues),
        Part("workers", ("service", "id", "slots", "alive", "version"), workers),
        Part("providers", ("name", "state", "until", "last error"), providers),
        Part("tenants today", ("tenant", "jobs", "failed", "wait p95", "tokens", "cost $"), tenants),
    ]


def _alive(worker: Mapping[str, Any]) -> str:
    return "yes" if worker["alive"] else "NO"


def _tokens(row: Mapping[str, Any]) -> int:
    return int(row["input_tokens"] + row["output_tokens"])


def _lines(part: Part) -> list[str]:
    return ["\t".join(["", *map(_cell, row)]) for row in part.rows]


def _screen(client: Client, pages: Mapping[str, Any], trouble: str) -> Group:
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown: list[Any] = [Text(f"{client.target.url}  {datetime.now():%H:%M:%S}  {visible(trouble)}", style="bold")]
    for part in _parts(pages):
        if not part.rows:
            continue
        more = len(part.rows) - _MAX_ROWS
        table = Table(
            box=None, title=f"\n{part.title}", title_justify="left", header_style="bold", padding=(0, 2, 0, 0)
        )
        for column in part.columns:
            table.add_column(column, overflow="ellipsis", no_wrap=True)
        for row in part.rows[:_MAX_ROWS]:
            table.add_row(*[Text(visible(_cell(value))) for value in row])
        shown.append(table)
        if more > 0:
            shown.append(Text(f"and {more} more", style="dim"))
    return Group(*shown)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.1f}" if value >= 0.1 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("\t", " ").replace("\n", " ")
