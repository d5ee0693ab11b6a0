"""The default prompts: ``services/<service>/prompts/<purpose>.md`` is the prompt ``service.purpose``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import shared

_SERVICES = Path(shared.__file__).resolve().parent.parent / "services"


@cache
def defaults(services: Path = _SERVICES) -> Mapping[str, str]:
    """Every default text by its key; the folder that holds ``prompts`` names the service."""
    files = sorted([*services.glob("*/prompts/*.md"), *services.glob("*/*/prompts/*.md")])
    return {f"{file.parent.parent.name}.{file.stem}": file.read_text(encoding="utf-8") for file in files}
