"""`assay doctor`: what works, what does not, and what to do about it. It only looks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assay.calls import registries, rest
from assay.commands.session import Session, current
from assay.errors import APIError, NotAuthenticated


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


def _checks(session: Session) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    home = Path(os.environ.get("ASSAY_HOME") or ".assay").absolute()
    free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists())).free / 1e9
    yield Check("disk", free > 1, f"{free:.1f} GB free", "free some space: databases stop when the disk is full")
    client = session.client.with_options(max_retries=0, timeout=10)
    try:
        client.fetch(rest.ready())
    except APIError as error:
        yield Check("server", False, f"{client.target.url}: {error}", "run `assay up -d`, or set ASSAY_URL")
        return
    yield Check("server", True, client.target.url)
    try:
        capabilities = client.fetch(rest.capabilities())
        providers = client.fetch(registries.providers())
    except NotAuthenticated:
        yield Check("key", False, "refused", 'eval "$(assay status -o env)", or set ASSAY_API_KEY')
        return
    except APIError as error:
        yield Check("key", False, str(error), "look into the gateway's log")
        return
    yield Check("key", True, "accepted")
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
    reached = f"{isolation['tier']} (at least {isolation['minimum']})"
    yield Check("isolation", isolation["tier"] != "none", reached, "no code runs: `kind execute` says why")
    for provider in providers["items"]:
        yield _provider(provider)


def _provider(provider: dict[str, Any]) -> Check:
    state, until = provider["state"], provider.get("until")
    told = {
        "closed": "asked when it is needed",
        "half_open": "failed, and is tried again",
        "open": f"failed, and is not asked until {until}",
        "parked": f"limits our rate, and is not asked until {until}",
        "unconfigured": "has no key",
    }.get(state, state)
    finding = told + (f": {provider['last_error']}" if provider.get("last_error") else "")
    ok = provider["configured"] and state not in ("open", "parked")
    advice = "others answer meanwhile" if provider["configured"] else f"set {_key(provider)}"
    return Check(f"provider {provider['name']}", ok, finding, advice, grave=False)


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
