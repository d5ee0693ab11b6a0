"""A receiver distinguishes a genuine delivery from others, in every language of the guide."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from assay.webhooks import InvalidSignature, sign, verify
from shared.jobs.record.webhooks import new_secret
from tests.docs.examples import ROOT, blocks

BODY = b'{"type":"job.finished","timestamp":"2026-11-23T06:00:00Z","data":{"id":"j-1","kind":"execute"}}'
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="  # not a secret


def delivery(secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    stamp = int(time.time() if at is None else at)
    return {
        "Webhook-Id": "msg_j-1",
        "Webhook-Timestamp": str(stamp),
        "Webhook-Signature": f"v1,AAAA {sign(secret, 'msg_j-1', stamp, BODY)}",
    }


def test_a_delivery_signed_by_one_of_the_secrets_is_genuine() -> None:
    assert verify(BODY, delivery(), [new_secret(), SECRET])["data"]["id"] == "j-1"
    assert verify(BODY.decode(), delivery(), SECRET)["type"] == "job.finished"
    Webhook(SECRET).verify(BODY, delivery())  # as the library of the standard sees it


@pytest.mark.parametrize("wrong", ["body", "secret", "old", "future", "headers", "timestamp"])
def test_anything_else_is_not(wrong: str) -> None:
    ago = {"old": -600, "future": 600}.get(wrong, 0)
    headers = delivery(new_secret() if wrong == "secret" else SECRET, time.time() + ago)
    if wrong == "headers":
        del headers["Webhook-Signature"]
    if wrong == "timestamp":
        headers["Webhook-Timestamp"] = "yesterday"
    with pytest.raises(InvalidSignature):
        verify(BODY + b" " if wrong == "body" else BODY, headers, SECRET)


def test_a_secret_that_is_none_is_said_to_be_none() -> None:
    for secret in ("my secret", "", "whsec_", "whsec_ä", "whsec_not-base64!"):
        with pytest.raises(ValueError, match="a webhook's secret is whsec_ and base64"):
            verify(BODY, delivery(), secret)


_COMMANDS = {
    "python": [sys.executable, "FILE.py"],
    "javascript": ["node", "FILE.cjs"],
    "go": ["go", "run", "FILE.go"],
    "sh": ["sh", "FILE.sh"],
}


@pytest.mark.slow
@pytest.mark.parametrize("language", _COMMANDS)
def test_the_guides_example_tells_them_apart(language: str, tmp_path: Path) -> None:
    program, name = _COMMANDS[language][0], _COMMANDS[language][-1]
    if shutil.which(program) is None or (language == "sh" and shutil.which("openssl") is None):
        pytest.skip(f"{program} (or openssl) is not installed")
    page = ROOT / "docs" / "how-to" / "webhooks.md"
    [text] = [each.text for each in blocks(page) if each.language == language and "HTTP_WEBHOOK" in each.text]
    (tmp_path / name).write_text(text)

    def run(body: bytes, headers: dict[str, str], secret: str = SECRET) -> subprocess.CompletedProcess[bytes]:
        env = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        env |= {**os.environ, "ASSAY_WEBHOOK_SECRET": secret, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            _COMMANDS[language], input=body, env=env, cwd=tmp_path, capture_output=True, check=False, timeout=120
        )

    genuine = run(BODY, delivery())
    assert (genuine.returncode, genuine.stdout.strip()) == (0, b"j-1"), genuine.stderr
    for body, headers in (
        (BODY + b" ", delivery()),
        (BODY, delivery(new_secret())),
        (BODY, delivery(at=time.time() - 900)),
    ):
        assert run(body, headers).returncode == 1
    no_secret = run(BODY, delivery(), "my secret")
    assert no_secret.returncode == 1
    assert b"Traceback" not in no_secret.stderr
