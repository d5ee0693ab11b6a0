"""The command detects the technologies of a checkout, compares commits, keeps definitions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.assay.terminal import Shell, written


def _git(folder: Path, *words: str) -> None:
    who = [part for key in ("user.name=a", "user.email=a@b.c", "init.defaultBranch=main") for part in ("-c", key)]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def checkout(shell: Shell) -> Path:
    """A monorepo of two commits: the framework changes, one service goes and one comes."""
    folder = shell.folder / "checkout"
    (folder / "api").mkdir(parents=True)
    (folder / "web").mkdir()
    _git(folder, "init", "-q")
    (folder / "web" / "package.json").write_text(
        '{"name": "web",\n "scripts": {"start": "node ."},\n'
        ' "dependencies": {\n  "express": "4.18.2",\n  "pg": "8.11.0"}}\n'
    )
    (folder / "web" / "index.js").write_text("require('express')().listen(process.env.PORT || 3001)\n")
    (folder / "web" / ".nvmrc").write_text("20.11.1\n")
    (folder / "api" / "go.mod").write_text("module example.com/api\n\ngo 1.22\n")
    (folder / "api" / "main.go").write_text("package main\n\nfunc main() {}\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "one")
    (folder / "web" / "package.json").write_text('{"name": "web", "dependencies": {"fastify": "4.0.0"}}\n')
    (folder / "api" / "go.mod").unlink()
    (folder / "jobs").mkdir()
    (folder / "jobs" / "Cargo.toml").write_text('[package]\nname = "jobs"\nversion = "0.1.0"\n')
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "two")
    _git(folder, "checkout", "-q", "--detach", "HEAD~1")
    return folder


@pytest.mark.slow
def test_a_detection_is_a_tree_of_services_with_versions_and_evidence(shell: Shell, checkout: Path) -> None:
    ran = shell("detect", str(checkout), "--mode", "static")
    assert ran.status == 0, ran.talk
    lines = ran.out.splitlines()
    assert [line for line in lines if line[0].isalpha()][:2] == ["web: app, primary", "api (example.com/api): app"]
    for wanted in (
        "Express 4.18.2  [web/package.json:4]",
        "node 20.11.1, out of support since 2026-04-30  [web/.nvmrc:1]",
        "npm start, port 3001",
        "PostgreSQL (database)",
    ):
        assert any(wanted in line for line in lines), ran.out
    assert lines[-1].startswith("languages: JavaScript")
    explained = shell("detect", str(checkout), "--mode", "static", "--explain").out
    assert 'fw.express  web/package.json:4  "express": "4.18.2"' in explained
    assert "PostgreSQL (database), 0.85  [web/package.json:5]" in explained
    assert len(explained) > len(ran.out)
    assert shell("detect", str(checkout), "--json").json["result"]["services"][0]["path"] == "web"
    assert "CMD" in shell("detect", str(checkout), "--format", "dockerfile").out
    assert json.loads(shell("detect", str(checkout), "--format", "cyclonedx").out)["specVersion"] == "1.6"
    assert json.loads(shell("detect", str(checkout), "--format", "spdx").out)["spdxVersion"] == "SPDX-2.3"
    sarif = json.loads(shell("detect", str(checkout), "--format", "sarif").out)
    assert {result["ruleId"] for result in sarif["runs"][0]["results"]} == {"eol", "unpinned"}


@pytest.mark.slow
def test_two_commits_are_compared(shell: Shell, checkout: Path) -> None:
    ran = shell("detect", str(checkout), "--mode", "static", "--diff", "HEAD", "main")
    assert ran.status == 0, ran.talk
    assert "- api (example.com/api)" in ran.out
    assert "+ jobs (jobs)" in ran.out
    assert "  ~ framework express -> fastify" in ran.out
    changes = shell("--json", "detect", str(checkout), "--diff", "HEAD", "main").json
    assert {"path": "web", "what": "framework", "before": "express", "after": "fastify"} in changes
    assert shell("detect", str(checkout), "--diff", "main", "main").out == "nothing changed\n"
    assert shell("detect", str(checkout), "--diff", "nowhere", "HEAD").status == 2
    assert shell("detect", str(checkout), "--diff", "--output=x", "HEAD").status == 2
    assert shell("detect", str(checkout), "--format", "pdf").status == 2
    assert shell("detect", str(checkout), "--ref", "main").status == 2


@pytest.mark.slow
def test_definitions_are_kept_in_versions_and_used(shell: Shell, checkout: Path) -> None:
    good = "definitions:\n  - {id: acme, kind: framework, name: Acme, files: [index.js]}\n"
    bad = shell("definitions", "check", written(shell, "bad.yaml", good.replace("framework", "tool")))
    assert bad.status == 1
    assert "line 2" in bad.talk
    kept = shell("definitions", "set", written(shell, "own.yaml", good), "--note", "Acme is ours")
    assert kept.out == "version 1, 1 definitions\n"
    assert shell("definitions", "get").out == good
    ran = shell("detect", str(checkout), "--mode", "static")
    assert "Acme (custom)" in ran.out
    assert "version 1 of your own" in ran.out
    assert "Acme" not in shell("detect", str(checkout), "--mode", "static", "--definitions", "0").out
    assert shell("definitions", "clear").out == "version 2, 0 definitions\n"
    assert shell("definitions", "rollback", "1").out == "version 3, 1 definitions\n"
    listed = shell("definitions", "versions").out
    assert (len(listed.splitlines()), "Acme is ours" in listed, "as version 1 was" in listed) == (4, True, True)
    assert shell("definitions", "proposals", "--json").json["items"] == []
    assert shell("definitions", "promote", "language", "blorb").status == 3
    assert shell("definitions", "clear").status == 0


@pytest.mark.slow
def test_a_pipeline_fails_on_what_it_refuses(shell: Shell, checkout: Path) -> None:
    plain = shell("detect", str(checkout), "--mode", "static")
    ran = shell("detect", str(checkout), "--mode", "static", "--fail-on", "eol,secret-file")
    assert ran.status == 1
    assert ran.out == plain.out
    assert "web/.nvmrc:1: eol: node 20.11.1 is out of support since 2026-04-30" in ran.talk
    assert "unpinned" not in ran.talk
    assert shell("detect", str(checkout), "--mode", "static", "--fail-on", "secret-file").status == 0
    locked = shell("detect", str(checkout), "--mode", "static", "--fail-on", "unpinned", "--json")
    assert locked.status == 1
    assert "package-lock.json" in locked.talk
    assert {finding["rule"] for finding in locked.json["result"]["findings"]} == {"eol", "unpinned"}


def test_unknown_checks_are_refused_with_those_there_are(shell: Shell, checkout: Path) -> None:
    for wrong in ("eol,licence", "", ",", "EOL"):
        ran = shell("detect", str(checkout), "--fail-on", wrong)
        assert ran.status == 2, wrong
        assert "eol, conflict, unpinned, secret-file" in ran.talk
    assert shell("detect", str(checkout), "--fail-on", "eol", "--no-wait").status == 2


@pytest.mark.slow
def test_a_detection_is_compared_with_an_earlier_one(shell: Shell, checkout: Path) -> None:
    before = shell("detect", str(checkout), "--mode", "static", "--json")
    job, result = (
        written(shell, "job.json", before.out),
        written(shell, "result.json", json.dumps(before.json["result"])),
    )
    for file in (job, result):
        assert shell("detect", str(checkout), "--mode", "static", "--diff", file).out == "nothing changed\n"
    older = before.json
    older["result"]["findings"] = [one for one in older["result"]["findings"] if one["rule"] != "eol"]
    older["result"]["services"][0]["primary"]["framework"] = "koa"
    ran = shell("detect", str(checkout), "--mode", "static", "--diff", written(shell, "older.json", json.dumps(older)))
    assert ran.status == 0, ran.talk
    assert "~ framework koa -> express" in ran.out
    assert "+ finding eol: node 20.11.1 is out of support since 2026-04-30" in ran.out
    assert "unpinned" not in ran.out
    for wrong in ("", "{", "[]", '{"result": {"services": 1}}'):
        ran = shell("detect", str(checkout), "--diff", written(shell, "wrong.json", wrong))
        assert ran.status == 2, wrong
        assert "wrong.json" in ran.talk
    assert shell("detect", str(checkout), "--diff", "nowhere.json").status == 2
    assert shell("detect", str(checkout), "--diff", "a", "b", "c").status == 2
