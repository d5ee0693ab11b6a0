"""Ids in paths: whatever is not one of ours is not found, and never reaches a statement."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator

from shared.errors import NotFound

_SANE = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def _sane(id: str) -> str:
    if not _SANE.fullmatch(id):
        raise NotFound("There is nothing with that id.")
    return id


Id = Annotated[str, Path(description="The id"), AfterValidator(_sane)]
