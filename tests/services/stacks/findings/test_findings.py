"""What a check may refuse: each rule where it applies, and nothing where it does not."""

from __future__ import annotations

import pytest

from tests.services.stacks.trees import Files, detected

APP = {
    "package.json": {"name": "web", "scripts": {"start": "node ."}, "dependencies": {"express": "4"}},
    "index.js": "1\n",
}
KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIE\n"


def told(files: Files, rule: str) -> list[tuple[str | None, int | None]]:
    return [(finding.file, finding.line) for finding in detected(files).findings if finding.rule == rule]


def test_a_version_out_of_support_has_its_last_day() -> None:
    (finding,) = detected({**APP, ".nvmrc": "20.1.0\n"}).findings[:1]
    assert (finding.rule, finding.since, finding.file, finding.line) == ("eol", "2026-04-30", ".nvmrc", 1)
    assert "2026-11-23" in finding.message
    assert told({**APP, ".nvmrc": "24\n"}, "eol") == []


def test_a_release_line_between_those_of_long_term_support_ends_too() -> None:
    assert told({**APP, ".nvmrc": "23.1.0\n"}, "eol") == [(".nvmrc", 1)]


def test_what_its_makers_left_is_out_of_support() -> None:
    files = {
        "Gopkg.toml": '[[constraint]]\nname = "github.com/pkg/errors"\nversion = "0.8.0"\n',
        "main.go": "package main\n",
    }
    assert told(files, "eol") == [("Gopkg.toml", None)]


def test_contradictions_are_findings() -> None:
    assert len(told({**APP, "yarn.lock": "", "package-lock.json": "{}"}, "conflict")) == 1
    assert told(APP, "conflict") == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (APP, [("package.json", None)]),
        ({**APP, "pnpm-lock.yaml": "x: 1\n"}, []),
        ({"requirements.txt": "flask\nclick==8.1.7\n", "app.py": "from flask import Flask\napp = Flask(__name__)\napp.run()\n"}, [("requirements.txt", 1)]),
        ({"requirements.txt": "flask==3.0.0\n", "app.py": "from flask import Flask\napp = Flask(__name__)\napp.run()\n"}, []),
        ({"Cargo.toml": '[package]\nname = "a"\n[dependencies]\naxum = "0.7"\n', "src/main.rs": "fn main() {}\n"}, [("Cargo.toml", None)]),
        ({"Cargo.toml": '[package]\nname = "a"\n[dependencies]\naxum = "0.7"\n', "src/lib.rs": "\n"}, []),
        ({**APP, "yarn.lock": "", "Dockerfile": "FROM node:24 AS one\nFROM one\nFROM nginx\n"}, [("Dockerfile", 3)]),
        ({**APP, "yarn.lock": "", "Dockerfile": "FROM --platform=linux/amd64 r.io:5000/node:latest\n"}, [("Dockerfile", 1)]),
        ({**APP, "yarn.lock": "", "Dockerfile": "ARG B\nFROM $B\nFROM scratch\nFROM a@sha256:00\n"}, []),
    ],
)  # fmt: skip
def test_what_another_build_may_resolve_otherwise(files: Files, expected: list[tuple[str, int | None]]) -> None:
    assert told(files, "unpinned") == expected


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        (".env", "PORT=1\nexport API_KEY='abcd1234'\n", 2),
        (".env.production", "DATABASE_URL=postgres://me:hunter22@db/x\n", 1),
        ("deploy/id_ed25519", "x", None),
        ("certs/server.key", KEY, 1),
        ("store.p12", "x", None),
        (".npmrc", "//registry.example/:_authToken=abcdef\n", 1),
        ("my-service-account.json", '{\n"private_key": "-----BEGIN ' + 'PRIVATE KEY-----"}', 2),
    ],
)
def test_files_with_credentials_are_named_and_their_values_are_not(name: str, content: str, line: int | None) -> None:
    result = detected({**APP, name: content})
    assert [(one.file, one.line) for one in result.findings if one.rule == "secret-file"] == [(name, line)]
    assert not any(value in result.model_dump_json() for value in ("abcd1234", "hunter22", "abcdef"))


@pytest.mark.parametrize(
    "files",
    [
        {".env": "PORT=1\nAPI_KEY=\nTOKEN=changeme\nPASSWORD=${OTHER}\n"},
        {".env.example": "API_KEY=abcd1234\n"},
        {".envrc": "x\n"},
        {"certs/ca.pem": "-----BEGIN CERTIFICATE-----\n"},
        {"tests/server.key": KEY},
        {".npmrc": "//registry.example/:_authToken=${NPM_TOKEN}\nsave-exact=true\n"},
        {".gitignore": ".env\n", ".env": "API_KEY=abcd1234\n"},
    ],
)
def test_what_looks_like_a_secret_and_is_none(files: Files) -> None:
    assert told({**APP, **files}, "secret-file") == []


def test_a_file_made_to_be_slow_is_read_in_linear_time() -> None:
    for text in ("\n" * 60_000, " " * 60_000, "A" * 60_000, "A=://" * 12_000, "\n".join(["_auth"] * 10_000)):
        assert told({".env": text, ".npmrc": text, **APP}, "secret-file") == []
