"""What looks like a secret is not shown to a model."""

from __future__ import annotations

import pytest

from services.stacks.llm.questions import redacted


@pytest.mark.parametrize(
    "text",
    [
        "password = hunter22", '"api_key": "hunter22"', "AWS_SECRET_ACCESS_KEY=hunter22", "https://bob:hunter22@host/x",
        "sk-live-hunter22hunter22hunter22", "ghp_hunter22hunter22hunter22", "github_pat_hunter22hunter22hunter22",
        "xoxb-hunter22hunter22", "eyJhunter22hunter22.eyJhunter22hunter22.hunter22",  # not a secret
        "-----BEGIN RSA PRIVATE KEY-----\nhunter22\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nhunter22",  # not a secret
    ],
)  # fmt: skip
def test_secrets_are_blanked(text: str) -> None:
    assert "hunter22" not in redacted(f"a = 1\n{text}\n")


def test_what_is_no_secret_stays() -> None:
    text = "port = 8080\nauthor: me\nurl = https://host/x\n"
    assert redacted(text).splitlines()[::2] == text.splitlines()[::2]
