"""Where the server is and which key to show: given, from the environment, or of the installation that runs here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Target:
    url: str
    api_key: str | None


def find_target(
    url: str | None = None, api_key: str | None = None, environment: Mapping[str, str] | None = None
) -> Target:
    """The installation's own key is shown to the installation's own URL only."""
    env = os.environ if environment is None else environment
    given = url or env.get("ASSAY_URL") or None
    key = api_key or env.get("ASSAY_API_KEY") or None
    local = _local(Path(env.get("ASSAY_HOME") or ".assay"))
    if local is not None and (given is None or given.rstrip("/") == local.url.rstrip("/")):
        return Target(local.url.rstrip("/"), key or local.api_key)
    return Target((given or DEFAULT_URL).rstrip("/"), key)


def _local(home: Path) -> Target | None:
    """What the supervisor wrote about itself."""
    try:
        status = json.loads((home.expanduser() / "status.json").read_text("utf-8"))
        return Target(status["url"], status.get("api_key"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
