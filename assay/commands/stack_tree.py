"""A detection for people: services, the parts of each, and the file and line of the evidence."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

Object = Mapping[str, Any]

_KINDS = ("language", "build_system", "package_manager", "framework", "runtime")
_TITLES = {"build_system": "build system", "package_manager": "manager"}
_LABEL = 13
_UNSURE = 0.5
_MAX_SHOWN = 12


def drawn(result: Object, *, explain: bool = False) -> str:
    """Return the whole result as lines; ``explain`` adds every candidate, all evidence, and what was overruled."""
    branches: list[tuple[str, list[str]]] = [
        (_headline(service, primary=number == 0), list(_service(service, explain=explain)))
        for number, service in enumerate(result["services"])
    ]
    if not branches:
        branches = [("no service was found: nothing here has a manifest", [])]
    if footer := list(_footer(result)):
        branches.append((footer[0], footer[1:]))
    return "\n".join(line for title, lines in branches for line in [title, *_branched(lines)])


def _branched(lines: Sequence[str]) -> Iterator[str]:
    """Lines under their headline; those that begin with a blank continue the one above."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    tee, corner, bar = ("|- ", "`- ", "|  ") if plain else ("├─ ", "└─ ", "│  ")
    last = max((at for at, line in enumerate(lines) if not line.startswith(" ")), default=-1)
    for at, line in enumerate(lines):
        if line.startswith(" "):
            yield ("   " if at > last else bar) + line
        else:
            yield (corner if at == last else tee) + line


def _headline(service: Object, *, primary: bool) -> str:
    path = service["path"] or "."
    name = service["name"]
    shown = path if name in {path, path.rpartition("/")[2], "root"} else f"{path} ({name})"
    return f"{shown}: {service['role']}{', primary' if primary else ''}"


def _service(service: Object, *, explain: bool) -> Iterator[str]:
    shown: set[tuple[str, str]] = set()
    for kind in _KINDS:
        candidates = [candidate for candidate in service["candidates"] if candidate["kind"] == kind]
        first = next((candidate for candidate in candidates if candidate["id"] == service["primary"][kind]), None)
        if kind == "package_manager" and first and first["id"] == service["primary"]["build_system"] and not explain:
            shown.add((kind, first["id"]))
            continue
        if first is not None:
            shown.add((kind, first["id"]))
            yield _line(_TITLES.get(kind, kind), _named(first), _place(first))
            yield from _evidence(first) if explain else ()
    yield from _rest(service, shown, explain=explain)
    yield from _versions(service["versions"], explain=explain)
    yield from _uses(service.get("backing_services") or [], explain=explain)
    yield from _facts(service, explain=explain)
    for conflict in service["conflicts"]:
        claims = ", ".join(map(str, conflict["claims"]))
        yield _line("conflict", f"{conflict['kind']}: {claims}; {conflict['winner']} counts, by {conflict['rule']}")
    for warning in service["warnings"]:
        yield _line("warning", warning)


def _rest(service: Object, shown: set[tuple[str, str]], *, explain: bool) -> Iterator[str]:
    """Yield the remaining candidates: in one line, or each with its evidence."""
    others = [candidate for candidate in service["candidates"] if (candidate["kind"], candidate["id"]) not in shown]
    if explain:
        for candidate in others:
            yield _line(
                "also",
                f"{candidate['kind'].replace('_', ' ')} {_named(candidate)}, {candidate['confidence']:.2f}",
                _place(candidate),
            )
            yield from _evidence(candidate)
        return
    names = {
        (candidate["id"]): candidate
        for candidate in others
        if candidate["confidence"] >= _UNSURE and candidate["kind"] != "package_manager"
    }
    taken = {id for _, id in shown}
    also = [_named(candidate) for id, candidate in names.items() if id not in taken]
    if also:
        yield _line("also", ", ".join(also[:_MAX_SHOWN]) + (", ..." if len(also) > _MAX_SHOWN else ""))


def _evidence(candidate: Object) -> Iterator[str]:
    source = "" if candidate["source"] == "rule" else f" ({_SOURCES.get(candidate['source'], candidate['source'])})"
    for number, proof in enumerate(candidate["evidence"]):
        where = f"{proof['file']}:{proof['line']}" if proof["line"] else proof["file"]
        snippet = f"  {proof['snippet']}" if proof["snippet"] else ""
        sure = f"{candidate['confidence']:.2f}" if not number else "    "
        yield f"   {sure} {proof['rule']}{source}  {where}{snippet}"


_SOURCES = {"llm": "a model", "user": "your definition", "default": "usual"}


def _versions(trails: Sequence[Object], *, explain: bool) -> Iterator[str]:
    for trail in trails:
        where = f"{trail['file']}:{trail['line']}" if trail["line"] else trail["file"]
        old = (
            ", out of support" + (f" since {trail['eol_date']}" if trail.get("eol_date") else "")
            if trail["eol"]
            else ""
        )
        yield _line("version", f"{trail['runtime']} {trail['value']}{old}", where or trail["source"])
        if explain:
            for version in trail["overridden"]:
                place = f"{version['file']}:{version['line']}" if version["line"] else version["file"]
                yield f"        over {version['value']}  {version['source']}  {place}"


def _uses(backing: Sequence[Object], *, explain: bool) -> Iterator[str]:
    """Databases, caches, brokers and services of others: in one line, or each with its evidence."""
    if not explain and backing:
        yield _line("uses", ", ".join(f"{used['name']} ({used['category']})" for used in backing[:_MAX_SHOWN]))
    for used in backing if explain else ():
        yield _line("uses", f"{used['name']} ({used['category']}), {used['confidence']:.2f}", _place(used))
        for proof in used["evidence"]:
            where = f"{proof['file']}:{proof['line']}" if proof["line"] else proof["file"]
            snippet = f"  {proof['snippet']}" if proof["snippet"] else ""
            yield f"        {proof['rule']}  {where}{snippet}"


def _origin(trail: Object | None) -> str | None:
    """Return the file and line that a fact was read from; ``default`` for what a framework does by itself."""
    if trail is None:
        return None
    evidence = trail["evidence"]
    if evidence is None:
        return str(trail["source"])
    return f"{evidence['file']}:{evidence['line']}" if evidence["line"] else str(evidence["file"])


def _facts(service: Object, *, explain: bool) -> Iterator[str]:
    build, runtime = service["build"], service["runtime"]
    if build["commands"]:
        yield _line("build", " && ".join(build["commands"]))
    if build["packages"]:
        yield _line("needs", ", ".join(build["packages"]))
    ports = ", ".join(map(str, runtime["ports"]))
    health = (runtime["health"] or {}).get("endpoint")
    parts = [" ".join(runtime["command"]), f"port {ports}" if ports else "", f"health {health}" if health else ""]
    if service["role"] == "app" and any(parts):
        trail = runtime.get("trail") or {}
        yield _line("start", ", ".join(part for part in parts if part), _origin(trail.get("command")))
        for name in ("ports", "health") if explain else ():
            if origin := trail.get(name):
                yield f"        {name}  {_origin(origin)}, {origin['confidence']:.2f}"
    if runtime["env"]:
        names = list(runtime["env"])
        yield _line("reads", ", ".join(names[:_MAX_SHOWN]) + (", ..." if len(names) > _MAX_SHOWN else ""))


def _footer(result: Object) -> Iterator[str]:
    total = sum(result["languages"].values())
    if total:
        ordered = sorted(result["languages"].items(), key=lambda item: (-item[1], item[0]))
        shares = [f"{name} {size / total:.1%}" for name, size in ordered[:8]]
        yield f"languages: {', '.join(shares)}"
    if result["workspace"]:
        members = result["workspace"]["members"]
        shown = ", ".join(members[:_MAX_SHOWN]) + (", ..." if len(members) > _MAX_SHOWN else "")
        yield _line("workspace", f"{result['workspace']['manager']}: {shown}")
    if result["orchestrator"]:
        yield _line("tasks", result["orchestrator"])
    rules = result.get("rules") or {}
    if rules.get("definitions"):
        yield _line("definitions", f"version {rules['definitions']} of your own")


def _line(label: str, text: str, place: str | None = None) -> str:
    return f"{label:<{_LABEL}} {text}" + (f"  [{place}]" if place else "")


def _named(candidate: Object) -> str:
    name = f"{candidate['name']} {candidate['version']}" if candidate["version"] else str(candidate["name"])
    return f"{name} (custom)" if candidate["custom"] else name


def _place(candidate: Object) -> str | None:
    if not candidate["evidence"]:
        return None
    first = candidate["evidence"][0]
    return f"{first['file']}:{first['line']}" if first["line"] is not None else str(first["file"])


def changes_drawn(changes: Sequence[Object]) -> str:
    """Differences by service: ``+`` came, ``-`` went, ``~`` is another one now."""
    lines = []
    for path, inner in groupby(changes, key=lambda change: change["path"]):
        listed = list(inner)
        whole = next((change for change in listed if change["what"] == "service"), None)
        if whole is not None and (whole["before"] is None or whole["after"] is None):
            sign, name = ("+", whole["after"]) if whole["before"] is None else ("-", whole["before"])
            lines.append(f"{sign} {path or '.'} ({name})")
            continue
        lines.append(path or ".")
        lines += [f"  {_change(change)}" for change in listed]
    return "\n".join(lines)


def _change(change: Object) -> str:
    if change["what"].startswith("finding:"):
        sign, place = ("+", change["after"]) if change["before"] is None else ("-", change["before"])
        return f"{sign} finding {change['what'].removeprefix('finding:')}  [{place}]"
    what = change["what"].removeprefix("candidate:").replace("_", " ").replace(":", " ")
    if change["before"] is None:
        return f"+ {what}" + ("" if change["after"] == "yes" else f" {change['after']}")
    if change["after"] is None:
        return f"- {what}" + ("" if change["before"] == "yes" else f" {change['before']}")
    return f"~ {what} {change['before']} -> {change['after']}"
