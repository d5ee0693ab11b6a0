"""The settings that an installation was started with, as digests: ``up`` says what is different on a running one."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from services.host import environment
from services.host.folder import InstallationFolder

_SERVERS = ("DATABASE_URL", "REDIS_URL", "BLOB_URL", "QDRANT_URL")
#: Variables of the command, not of the installation; and the folder itself.
_OTHER = frozenset({"ASSAY_API_KEY", "ASSAY_URL", "ASSAY_HOME"})
_SCRIPT = "--script"
#: What sets a value, where its name alone does not say so: ``--demo`` plays a script.
_SHOWN = {_SCRIPT: "--demo or --script"}


def digests(folder: InstallationFolder, ours: Mapping[str, str], script: Path | None) -> dict[str, str]:
    """Return a keyed digest of every variable that the processes read, and of the script of models."""
    prefixes = ("ASSAY_", "OTEL_", "AWS_", "S3_", "QDRANT_", *environment.vendor_prefixes())
    settings = {
        name: value
        for name, value in ours.items()
        if (name in _SERVERS or name.startswith(prefixes)) and name not in _OTHER and value
    }
    if script is not None:
        settings[_SCRIPT] = str(script.absolute())
    key = folder.secret("settings").encode()
    return {name: hmac.new(key, value.encode(), hashlib.sha256).hexdigest() for name, value in settings.items()}


def differences(started: Mapping[str, str] | None, now: Mapping[str, str]) -> str:
    """Return the changed settings and what to do, as a sentence; empty without changes, or when they are unknown."""
    if started is None:
        return ""
    shared = now.keys() & started.keys()
    new = [f"{_SHOWN.get(name, name)} is new" for name in sorted(now.keys() - started.keys())]
    other = [f"{_SHOWN.get(name, name)} is different" for name in sorted(shared) if now[name] != started[name]]
    gone = [f"{_SHOWN.get(name, name)} is not set here" for name in sorted(started.keys() - now.keys())]
    changes = [*new, *other, *gone]
    if not changes:
        return ""
    return (
        f"It still uses the settings that it was started with ({', '.join(changes)}): "
        "`assay down`, then `assay up`, to use these."
    )
