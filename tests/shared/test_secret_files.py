"""Secrets that are named by files, as containers mount them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.pasted import bare
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


AROUND = [("\ufeff", "\r\n"), ('"', '"\n'), ("'", "'"), ("\n\u200b ", "\u2060\n"), ('\ufeff"', '"\r\n')]


@pytest.mark.parametrize(("before", "after"), AROUND, ids=ascii)
def test_what_editors_and_shells_write_around_a_secret_is_not_part_of_it(
    tmp_path: Path, before: str, after: str
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(f"{before}a'b\"c{after}".encode())
    environment = {"GROQ_API_KEY_FILE": str(file)}
    read_into(environment)
    assert environment["GROQ_API_KEY"] == "a'b\"c"


@pytest.mark.parametrize("value", ['"half', "half'", '"', "\"a'", 'a"b'])
def test_other_quotes_are_part_of_a_secret(value: str) -> None:
    assert bare(value) == value


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
