"""The names of uploaded files: only ever labels, never paths."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from urllib.parse import quote

_LONGEST = 255
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_NAMELESS = "file"
_UNKNOWN = "application/octet-stream"


#: What clients send by default.
_UNTOLD = {_UNKNOWN, "application/x-www-form-urlencoded"}


def safe_name(name: str | None) -> str:
    """The last part of whatever path was given, without control characters; ``file`` when nothing is left."""
    last = re.split(r"[/\\\\]", name or "")[-1]
    visible = "".join(char for char in last if unicodedata.category(char)[0] != "C" or char == "\u200d")
    cut = visible.strip()
    if not cut.strip("."):
        return _NAMELESS
    while len(cut.encode()) > _LONGEST:
        stem, dot, ending = cut.rpartition(".")
        cut = f"{stem[:-1]}{dot}{ending}" if stem and len(ending) < 20 else cut[:-1]
    return cut


def media_type(given: str | None, name: str) -> str:
    """What the client said, when it said something; else what the name's ending says."""
    said = (given or "").partition(";")[0].strip().lower()
    if _MEDIA_TYPE.fullmatch(said) and said not in _UNTOLD:
        return said
    return mimetypes.guess_type(name)[0] or _UNKNOWN


def disposition(name: str) -> str:
    """``Content-Disposition`` of a download, whatever characters the name has."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
