"""The note of an installation in the user's own list, by which the command finds it from any folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from assay.installations import registry

_MOST = 50


def note(home: Path, environment: Mapping[str, str]) -> None:
    """Put the installation first in the list; a list that cannot be written does not prevent the start."""
    file = registry(environment)
    try:
        homes = [str(home), *(each for each in _noted(file) if each != str(home) and Path(each).is_dir())]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}.tmp")
        draft.write_text(json.dumps(homes[:_MOST]), "utf-8")
        draft.replace(file)
    except OSError:
        return


def _noted(file: Path) -> list[str]:
    try:
        homes = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [str(home) for home in homes] if isinstance(homes, list) else []
