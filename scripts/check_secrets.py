"""``python -m scripts.check_secrets [FILE ...]``: check that the source holds no working key.

It reads the files in git, or those that are named. A line that only looks like a secret is marked ``not a secret``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What a key looks like, by who gives it out.
SHAPES = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "Assay": r"\bask_[A-Za-z0-9]{8}_[A-Za-z0-9]{32}\b",
    "Anthropic": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "OpenAI": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}",
    "Groq": r"\bgsk_[A-Za-z0-9]{20,}",
    "Cerebras": r"\bcsk-[a-z0-9]{32,}",
    "AWS": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{40,})",
    "GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "Google": r"\bAIza[A-Za-z0-9_-]{35}",
    "Slack": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Stripe": r"\b[rs]k_live_[A-Za-z0-9]{20,}",
    "package registry": r"\b(?:pypi-[A-Za-z0-9_-]{50,}|npm_[A-Za-z0-9]{36})",
    "webhook secret": r"\bwhsec_[A-Za-z0-9+/]{24,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "password in a URL": r"\b[a-z][a-z0-9+]*://[^\s/:@'\"{}$<>]+:(?!password@|secret@)[^\s/:@'\"{}$<>]{8,}@[a-z0-9.-]+\.[a-z]",
}
_ANY = re.compile("|".join(f"(?P<s{number}>{shape})" for number, shape in enumerate(SHAPES.values())))
_WAIVED = "not a secret"


def main() -> int:
    secrets = [f"{name}:{place}" for name in _names() for place in secrets_in(ROOT / name)]
    sys.stderr.writelines(f"{secret}\n" for secret in secrets)
    return 1 if secrets else 0


def secrets_in(file: Path) -> Iterator[str]:
    """Yield the line of each apparent secret, and its issuer; never the secret itself."""
    try:
        text = file.read_text("utf-8")
    except (UnicodeDecodeError, OSError):
        return  # no text
    for number, line in enumerate(text.splitlines(), 1):
        match = _ANY.search(line)
        if match and _WAIVED not in line:
            yield f"{number}: looks like a secret ({list(SHAPES)[int((match.lastgroup or 's0')[1:])]})"


def _names() -> list[str]:
    if len(sys.argv) > 1:
        return sys.argv[1:]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return listed.rstrip("\0").split("\0")


if __name__ == "__main__":
    sys.exit(main())
