"""The changes to a flow since a client read it, for edits that come too late."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic import JsonValue
from sqlalchemy import Connection

from shared.errors import PreconditionFailed
from shared.flows import statements
from shared.flows.document import Json
from shared.flows.encoding import decode_operations
from shared.flows.operations import Add, Element, Operation, Remove
from shared.flows.statements import FlowKey

_MAX_VERSIONS = 200
_MAX_ELEMENTS = 100
_NAMED = 5  #: in words


def stale_edit(connection: Connection, flow: FlowKey, since: int | None, current: int) -> PreconditionFailed:
    """Return the refusal of an edit of an older version; ``changed`` lists the differences, null when unknown."""
    changed = None if since is None else _changed(connection, flow, since, current)
    what = "" if not changed else f" Since version {since}: {_in_words(changed)}."
    return PreconditionFailed(
        f"The flow is at version {current} by now.{what} Read it again and repeat the change.",
        version=current,
        changed=None if changed is None else [*changed[:_MAX_ELEMENTS]],
    )


def version_in(tags: str) -> int | None:
    """Return the version in an ``If-Match`` header; None unless it names exactly one."""
    match = re.fullmatch(r'\s*(?:W/)?"v(\d{1,18})"\s*', tags)
    return int(match[1]) if match else None


def _changed(connection: Connection, flow: FlowKey, since: int, current: int) -> list[Json] | None:
    """``kind, id, change, members`` of every element, the first change first; None when versions are not kept."""
    if not 0 < current - since <= _MAX_VERSIONS:
        return None
    rows = connection.execute(statements.tail(flow, since, current)).all()
    if len(rows) != current - since:
        return None
    operations: dict[Element, list[Operation]] = {}
    for row in rows:
        for operation in decode_operations(row.operations):
            operations.setdefault((operation.kind, operation.key), []).append(operation)
    return [_entry(element, done) for element, done in operations.items()]


def _entry(element: Element, done: Iterable[Operation]) -> Json:
    steps = [*done]
    added, removed = isinstance(steps[0], Add), isinstance(steps[-1], Remove)
    change = "removed" if removed else "added" if added else "changed"
    names = {name for one in steps if not isinstance(one, (Add, Remove)) for name in (*one.set, *one.unset)}
    members: list[JsonValue] = [*sorted(names)] if change == "changed" else []
    return {"kind": element[0].value, "id": element[1], "change": change, "members": members}


def _in_words(changed: Iterable[Mapping[str, JsonValue]]) -> str:
    words = [f"{one['kind']} {str(one['id'])[:60]} {one['change']}" for one in changed]
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f", and {more} more" if more > 0 else "")
