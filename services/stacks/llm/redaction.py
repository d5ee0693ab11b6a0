"""What of a file a model is shown: its beginning, without what looks like a secret."""

from __future__ import annotations

import re

_PATTERNS = (
    re.compile(
        r"(?i)((?:[\w-]*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|auth)[\w-]*)"
        r"[\"']?\s*[:=]\s*[\"']?)[^\s\"',}]{3,}"
    ),
    re.compile(r"()\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}"),
    re.compile(r"()\bgh[pousr]_[A-Za-z0-9]{20,}|()\bgithub_pat_\w{20,}"),
    re.compile(r"()\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"()\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}"),
    re.compile(r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S),
    re.compile(r"((?:[a-z][a-z0-9+.-]*)://[^\s:/@]+:)[^\s/@]+(?=@)"),
    re.compile(r"()\bxox[abprs]-[A-Za-z0-9-]{10,}"),
)


def redacted(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(lambda match: (match[1] or "") + "[redacted]", text)
    return text
