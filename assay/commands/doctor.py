"""`assay doctor`: what works, what does not, and what to do about it. It only looks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.calls import rest
from assay.commands.session import CommandLine, current
from assay.errors import APIError, NotAuthenticated
from assay.installations import home_of, read_status
from shared import VERSION

if TYPE_CHECKING:
    from assay import Client


#: The rest is checked from here.
_OF_SERVER = frozenset({"schema", "clock", "connections", "disk", "parsers", "version", "write"})


@dataclass(frozen=True)
class Check:
    what: str
    ok: bool
    finding: str
    advice: str = ""
    grave: bool = True  #: an installation without it is broken, not merely smaller


def doctor() -> int:
    """Check this machine and the server, read-only; exits with 1 when something is broken."""
    session = current()
    checks = list(_checks(session))
    session.show([asdict(check) for check in checks], lambda _: "\n".join(map(_line, checks)))
    return int(any(not check.ok and check.grave for check in checks))


def _checks(session: CommandLine) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    home = home_of(os.environ)
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists())).free / 1e9
    yield Check("disk", free > 1, f"{free:.1f} GB free", "free some space: databases stop when the disk is full")
    client = session.client.with_options(max_retries=0, timeout=10)
    try:
        ready = client.fetch(rest.ready())
    except APIError as error:
        yield Check("server", False, f"{client.target.url}: {error}", "run `assay up -d`, or set ASSAY_URL")
        return
    yield Check("server", True, client.target.url)
    for name, state in ready.get("dependencies", {}).items():
        finding = state.get("reason") or "answers"
        yield Check(name, state["state"] == "ok", finding, "its log, and the disk's free space, say more")
    try:
        capabilities = client.fetch(rest.capabilities())
        providers = client.fetch(rest.providers())
    except NotAuthenticated:
        yield Check("key", False, "refused", 'eval "$(assay status --format env)", or set ASSAY_API_KEY')
        return
    except APIError as error:
        yield Check("key", False, str(error), "look into the gateway's log")
        return
    yield Check("key", True, "accepted")
    theirs = capabilities.get("version") or "an older one"
    yield Check(
        "version", theirs == VERSION, f"server {theirs}, command {VERSION}", "install the same of both", grave=False
    )
    for kind, state in capabilities["kinds"].items():
        finding = f"{state['state']} {state.get('reason') or ''}".strip()
        grave = state["state"] == "no_worker"
        yield Check(
            f"kind {kind}", state["state"] == "ready", finding, _advice(state["state"], providers["items"]), grave
        )
    for language, state in capabilities["languages"].items():
        finding = (
            state.get("version") or state.get("reason") or ("available" if state["available"] else "not installed")
        )
        yield Check(f"language {language}", state["available"], finding, "scripts/install-optional", grave=False)
    isolation = capabilities["isolation"]
    claimed = f", {isolation['claimed']} claimed" if isolation.get("claimed") else ""
    reached = f"{isolation['tier']}{claimed} (at least {isolation['minimum']})"
    yield Check("isolation", isolation["tier"] != "none", reached, "no code runs: `kind execute` says why")
    yield from _scripted(home)
    for provider in providers["items"]:
        yield _provider(provider, providers["items"])
    yield from _of_server(client)
    try:
        named = client.fetch(rest.endpoints())["items"]
    except APIError:  # for administrators only
        return
    for endpoint in filter(_is_server, named):  # vendors are reported as providers
        yield _endpoint(client, endpoint["name"])


def _of_server(client: Client) -> Iterator[Check]:
    """Yield the checks that only the server can make, if it reports them to this key."""
    try:
        items = client.fetch(rest.doctor())["items"]
    except APIError:
        return
    for check in items:
        if check["name"] in _OF_SERVER:
            name = f"server's {check['name']}"
            yield Check(name, check["ok"], check["finding"], check.get("remedy") or "", check["grave"])


def _is_server(endpoint: dict[str, Any]) -> bool:
    """Return whether the endpoint is a model server of the operator: named in a file or by API, or with probed
    facts.
    """
    return endpoint["source"] in ("file", "api") or bool(endpoint.get("facts"))


def _endpoint(client: Client, name: str) -> Check:
    """Probe the endpoint's server and send its model a short test message."""
    try:
        tested = client.with_options(timeout=120).fetch(rest.test_endpoint(name))
    except APIError as error:
        return Check(f"endpoint {name}", False, str(error), f"assay endpoints test {name}", grave=False)
    facts = tested.get("facts") or {}
    finding = tested.get("error") or f"{facts.get('server') or 'a server'} answered"
    return Check(f"endpoint {name}", tested["ok"], finding, f"assay endpoints test {name}", grave=False)


def _scripted(home: Path) -> Iterator[Check]:
    """Yield a check if this machine's installation calls no model but plays a script."""
    services = (read_status(home) or {}).get("services") or []
    if any(service.get("name") == "scripted-llm" and service.get("pid") for service in services):
        yield Check("models", True, "scripted (--demo): answers come from a script, no provider is called")


def _provider(provider: dict[str, Any], others: Sequence[dict[str, Any]]) -> Check:
    state, until = provider["state"], provider.get("until")
    if provider.get("reachable") is False and state == "closed":
        state = "unreachable"
    shown = {
        "closed": "called when needed",
        "half_open": "failed, and is tried again",
        "open": f"failed, and is not called until {until}",
        "parked": f"{_why_parked(provider)}, and is not called until {until}",
        "refusing": "is called, but refuses every request",
        "unconfigured": "has no key",
        "unreachable": "did not answer the last check",
    }.get(state, state)
    finding = shown + (f": {provider['last_error']}" if provider.get("last_error") else "")
    ok = provider["configured"] and state not in ("open", "parked", "refusing", "unreachable")
    meanwhile = any(each["configured"] and each["state"] == "closed" and each is not provider for each in others)
    advice = "others answer meanwhile" if meanwhile else "no other is configured: start it, or set another one's key"
    advice = advice if provider["configured"] else f"set {_key(provider)}"
    return Check(f"provider {provider['name']}", ok, finding, advice, grave=False)


def _why_parked(provider: dict[str, Any]) -> str:
    """Return why it is not called: a rate limit ends by itself, an invalid key or an empty account does not."""
    return "limits our rate" if provider.get("last_error") == "rate_limited" else "refuses every call"


def _key(provider: dict[str, Any]) -> str:
    return f"{provider['name'].upper()}_API_KEY"


def _advice(state: str, providers: Sequence[dict[str, Any]]) -> str:
    keys = f"{_key(providers[0])} or another provider's key" if providers else "a provider's key"
    return {
        "no_worker": "start its worker: `assay status` shows what runs",
        "needs_provider": f"set {keys}, then `assay down && assay up -d`",
    }.get(state, "")


def _line(check: Check) -> str:
    mark = "ok  " if check.ok else "FAIL" if check.grave else "-   "
    advice = f"  -> {check.advice}" if not check.ok and check.advice else ""
    return f"{mark} {check.what:22} {check.finding}{advice}"
