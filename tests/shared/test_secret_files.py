"""Secrets that are named by files, as containers mount them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.secret_files import SecretFileError, read_into


def test_the_content_of_a_file_stands_in_for_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("  postgresql://u:p@h/d\n")
    environment = {
        "DATABASE_URL_FILE": str(file), "DATABASE_URL": "", "GROQ_API_KEY_FILE": str(file),
        "ASSAY_DATABASE_PASSWORD_GATEWAY_FILE": str(file), "ASSAY_READY_FILE": "/tmp/ready", "SSL_CERT_FILE": "/none",
        "REDIS_URL_FILE": "",
    }  # fmt: skip
    read_into(environment)
    for name in ("DATABASE_URL", "GROQ_API_KEY", "ASSAY_DATABASE_PASSWORD_GATEWAY"):
        assert environment[name] == "postgresql://u:p@h/d"
    assert {"ASSAY_READY", "SSL_CERT", "REDIS_URL"} & environment.keys() == set()


def test_a_file_that_cannot_be_used_is_named_without_its_content(tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"secret\xff\xfe")
    for path, why in (
        (tmp_path / "none", "No such file"),
        (empty, "is empty"),
        (binary, "is not text"),
        (tmp_path, ""),
    ):
        with pytest.raises(SecretFileError) as refused:
            read_into({"REDIS_URL_FILE": str(path)})
        assert str(refused.value).startswith(f"REDIS_URL_FILE: {path}")
        assert why in str(refused.value)
        assert "secret" not in str(refused.value).replace(str(path), "")
    with pytest.raises(SecretFileError, match="are both set"):
        read_into({"REDIS_URL": "redis://x", "REDIS_URL_FILE": str(binary)})
