"""Keys that work somewhere are seen in the source, and named by who gives them out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check_secrets import ROOT, SHAPES, secrets_in

#: In two halves, so that none of them is in this file.
KEYS = {
    "private key": ("-----BEGIN EC PRIV", "ATE KEY-----"),
    "Assay": ("ask_Abcd1234_", "x" * 32),
    "Anthropic": ("sk-ant-", "api03-" + "x" * 80),
    "OpenAI": ("sk-proj-", "x" * 100),
    "Groq": ("gsk_", "x" * 52),
    "Cerebras": ("csk-", "x" * 48),
    "AWS": ("AKIA", "ABCDEFGHIJKLMNOP"),
    "GitHub": ("ghp_", "x" * 36),
    "GitLab": ("glpat-", "x" * 20),
    "Google": ("AIza", "x" * 35),
    "Slack": ("xoxb-", "1234567890-x"),
    "Stripe": ("sk_live_", "x" * 24),
    "package registry": ("npm_", "x" * 36),
    "webhook secret": ("whsec_", "x" * 32),
    "JSON web token": ("eyJhbGciOiJIUzI.", "eyJzdWIiOiIxMjM0.abcdefghijk"),
    "password in a URL": ("postgresql://assay:", "hunter2hunter2@db.example.com/assay"),
}


@pytest.mark.parametrize("giver", SHAPES)
def test_a_key_is_seen_and_not_repeated(tmp_path: Path, giver: str) -> None:
    one, other = KEYS[giver]
    file = tmp_path / "settings.py"
    file.write_text(f"first = 1\nkey = '{one}{other}'\nkey = '{one}{other}'  # not a secret\n")
    assert [*secrets_in(file)] == [f"2: looks like a secret ({giver})"]


@pytest.mark.parametrize(
    "line",
    [
        "GROQ_API_KEY=gsk_...",
        "whsec_...",
        "postgresql://assay:password@postgres/assay",
        "redis://:$SECRET@redis",
        "ask_ID",
    ],
)
def test_what_stands_for_a_key_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "page.md").write_text(line)
    assert [*secrets_in(tmp_path / "page.md")] == []


@pytest.mark.slow
def test_the_source_has_none() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    ran = subprocess.run(
        [sys.executable, "-m", "scripts.check_secrets"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
