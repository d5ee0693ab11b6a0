"""The command against everything that `assay up` starts: data on stdout, talk on stderr, the promised exit statuses."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.host.control import alive
from tests.support.wait import until

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("script.yaml")
DATA = "city,n\nOslo,1\nRome,2\nOslo,3\n"


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    talk: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """Somebody's terminal: a folder and an environment."""

    folder: Path
    env: Mapping[str, str]

    def __call__(self, *words: str, stdin: str | None = None, **env: str) -> Ran:
        process = subprocess.run(
            self.command(words), cwd=self.folder, env={**self.env, **env}, input=stdin, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        return Ran(process.returncode, process.stdout, process.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(words), cwd=self.folder, env=dict(self.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    @staticmethod
    def command(words: Sequence[str]) -> list[str]:
        return [sys.executable, "-P", "-m", "assay", *words]


@pytest.fixture(scope="module")
def shell(servers_folder: Path) -> Iterator[Shell]:
    """A terminal beside a running installation with scripted models."""
    home = servers_folder / "command"
    desk = servers_folder / "desk"
    desk.mkdir()
    shell = Shell(
        desk,
        {
            **_plain(),
            "ASSAY_HOME": str(home),
            "ASSAY_REPLICAS": "search=0,flows=0",
            "ASSAY_LEASE_SECONDS": "3",
        },
    )
    try:
        ran = shell("up", "-d", "--script", str(SCRIPT))
        assert ran.status == 0, ran.talk
        yield shell
    finally:
        assert shell("down").status == 0


def _plain() -> dict[str, str]:
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL", "GROQ_", "CEREBRAS_", "OPENAI_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**env, "ASSAY_PORT": "0", "PYTHONPATH": str(ROOT)}


def _file(shell: Shell, name: str, text: str) -> str:
    (shell.folder / name).write_text(text)
    return name


def test_status_says_where_everything_is(shell: Shell) -> None:
    status = shell("status", "-o", "json").json
    assert {"url", "api_key", "database_url", "redis_url", "services"} <= set(status)
    names = [service["name"] for service in status["services"]]
    assert "execution-1" in names
    assert all(service["state"] == "ready" and alive(service["pid"]) for service in status["services"])
    assert shell("--json", "status").json == status
    lines = dict(line.split("=", 1) for line in shell("status", "-o", "env").out.splitlines())
    assert lines == {"ASSAY_URL": status["url"], "ASSAY_API_KEY": status["api_key"]}
    assert shell("status").status == 0


def test_the_first_request_that_up_prints_works(shell: Shell) -> None:
    again = shell("up", "-d")
    assert again.status == 0
    line = next(line for line in again.out.splitlines() if line.startswith("Try"))
    answer = subprocess.run(line.removeprefix("Try").strip(), shell=True, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["result"]["value"]["text"] == "42"


def test_a_program_prints_what_it_prints(shell: Shell) -> None:
    program = _file(shell, "p.py", "import sys\nprint('hello')\nprint('oops', file=sys.stderr)\n6 * 7\n")
    ran = shell("execute", program)
    assert (ran.status, ran.out) == (0, "hello\n42\n")
    assert "oops" in ran.talk
    assert shell("execute", "-", "--quiet", stdin="print(1)").out == "1\n"


def test_json_is_the_job_and_nothing_else(shell: Shell) -> None:
    job = shell("execute", _file(shell, "p.py", "print('x')"), "--json").json
    assert (job["state"], job["result"]["verdict"], job["result"]["stdout"]) == ("succeeded", "ok", "x\n")
    assert shell("jobs", "get", job["id"], "--json").json["id"] == job["id"]


def test_a_failing_program_is_a_verdict(shell: Shell) -> None:
    program = _file(shell, "bad.py", "raise ValueError('broken')")
    ran = shell("execute", program)
    assert ran.status == 0
    assert "ValueError: broken" in ran.talk
    assert "verdict: user_error" in ran.talk
    assert shell("execute", program, "--check").status == 1


def test_files_go_in_and_artifacts_come_out(shell: Shell) -> None:
    _file(shell, "numbers.txt", "1\n2\n3\n")
    program = _file(shell, "sum.py", "n = sum(map(int, open('in/n.txt')))\nopen('sum.txt', 'w').write(str(n))\n")
    ran = shell("execute", program, "--attach", "numbers.txt=in/n.txt", "--save", "made")
    assert ran.status == 0, ran.talk
    assert (shell.folder / "made" / "sum.txt").read_text() == "6"


def test_a_transform_shows_its_turns_and_prints_the_table(shell: Shell) -> None:
    task = "sum n by city, mistake first"
    ran = shell("transform", _file(shell, "d.csv", DATA), task, "-o", "out.parquet", "--code-out", "made.py")
    assert ran.status == 0, ran.talk
    assert list(csv.reader(io.StringIO(ran.out))) == [["city", "n"], ["Oslo", "4"], ["Rome", "2"]]
    assert "turn 1: error" in ran.talk
    assert "turn 2: result" in ran.talk
    assert "scripted" in ran.talk
    assert (shell.folder / "out.parquet").read_bytes()[:4] == b"PAR1"
    again = shell("transform", "d.csv", task, "--code", "made.py", "-o", "out.csv")
    assert again.out == ran.out
    assert "out.csv is a Parquet file" in again.talk


def test_every_attempt_at_a_model_is_listed(shell: Shell) -> None:
    job = shell("transform", _file(shell, "d.csv", DATA), "sum n by city", "--json").json
    calls = shell("jobs", "llm-calls", job["id"], "--json").json["items"]
    assert [call["outcome"] for call in calls] == ["ok", "ok"]
    assert {call["source"] for call in calls} == {"scripted"}
    assert "execution.transform" in shell("jobs", "llm-calls", job["id"]).out


def test_a_failed_job_exits_with_1(shell: Shell) -> None:
    code = _file(shell, "code.py", "raise RuntimeError('mine')")
    ran = shell("transform", _file(shell, "d.csv", DATA), "x", "--code", code)
    assert ran.status == 1
    assert "failed" in ran.talk
    job = shell("transform", "d.csv", "x", "--code", code, "--json")
    assert job.status == 1
    assert job.json["error"]["code"] == "user_code_failed"
    assert shell("jobs", "wait", job.json["id"]).status == 1


def test_a_timeout_exits_with_124_and_the_job_goes_on(shell: Shell) -> None:
    program = _file(shell, "slow.py", "import time\ntime.sleep(60)")
    ran = shell("execute", program, "--timeout", "1", "--wall-seconds", "90")
    assert ran.status == 124
    assert "assay jobs wait" in ran.talk
    id = ran.talk.split()[-1]
    assert shell("jobs", "get", id, "--json").json["state"] in ("queued", "running")
    cancelled = shell("jobs", "cancel", id)
    assert cancelled.status == 0
    until(lambda: shell("jobs", "get", id, "--json").json["state"] == "cancelled", "the job is cancelled", 30)
    assert shell("jobs", "wait", id).status == 1
    assert shell("jobs", "cancel", id).status == 1


def test_an_interrupt_exits_with_130(shell: Shell) -> None:
    process = shell.start("execute", _file(shell, "slow.py", "import time\ntime.sleep(60)"), "--wall-seconds", "90")
    assert process.stderr is not None
    assert process.stdout is not None
    id = process.stderr.readline().split()[-1]
    process.send_signal(signal.SIGINT)
    _, talk = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "goes on" in talk
    shell("jobs", "cancel", id)


def test_no_wait_prints_the_id_alone(shell: Shell) -> None:
    ran = shell("execute", _file(shell, "p.py", "print(1)"), "--no-wait", "--label", "team=x", "--label", "run=7")
    id = ran.out.strip()
    waited = shell("jobs", "wait", id, "--timeout", "60")
    assert waited.status == 0
    assert json.loads(waited.out)["stdout"] == "1\n"
    listed = shell("jobs", "ls", "--label", "run=7", "--json").json["items"]
    assert [job["id"] for job in listed] == [id]
    replayed = shell("jobs", "replay", id).out.strip()
    assert shell("jobs", "wait", replayed, "--json").json["replayed_from"] == id


def test_watch_prints_events_as_json_lines(shell: Shell) -> None:
    id = shell("execute", _file(shell, "p.py", "print(1)"), "--no-wait").out.strip()
    events = [json.loads(line) for line in shell("jobs", "watch", id, "--json").out.splitlines()]
    assert events[0]["type"] == "job_queued"
    assert events[-1]["type"] == "job_succeeded"
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})


def test_files_come_back_as_they_went(shell: Shell) -> None:
    (shell.folder / "b.bin").write_bytes(bytes(range(256)))
    id = shell("files", "put", "b.bin").out.strip()
    assert shell("files", "get", id, "back.bin").status == 0
    assert (shell.folder / "back.bin").read_bytes() == bytes(range(256))
    assert shell("files", "get", id, "--json").json["size"] == 256
    raw = subprocess.run(Shell.command(["files", "get", id, "-"]), env=dict(shell.env), capture_output=True, check=True)
    assert raw.stdout == bytes(range(256))
    assert shell("files", "rm", id).status == 0
    assert shell("files", "get", id, "back.bin").status == 3


def test_a_key_of_another_tenant_sees_nothing_and_may_do_what_its_scopes_say(shell: Shell) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    made = shell("keys", "create", "--tenant", tenant, "--scope", "read", "--name", "n", "--json").json
    assert made["tenant"] == tenant
    assert made["scopes"] == ["read"]
    job = shell("execute", _file(shell, "p.py", "1"), "--json").json
    assert shell("jobs", "get", job["id"], "--api-key", made["key"]).status == 3
    assert shell("--api-key", made["key"], "execute", "p.py").status == 4
    assert shell("jobs", "ls", "--json", ASSAY_API_KEY=made["key"]).json["items"] == []
    assert made["id"] in shell("keys", "ls").out
    assert shell("keys", "revoke", made["id"]).status == 0
    assert shell("jobs", "ls", "--api-key", made["key"]).status == 4


def test_any_request_can_be_sent(shell: Shell) -> None:
    body = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    job = shell("api", "POST", "/v1/jobs", "--body", json.dumps(body)).json
    assert shell("api", "get", f"/v1/jobs/{job['id']}").json["id"] == job["id"]
    assert shell("api", "POST", "/v1/jobs", "--body", "-", stdin=json.dumps(body)).json["kind"] == "execute"
    assert shell("api", "GET", "/v1/nothing").status == 3
    assert shell("api", "POST", "/v1/jobs", "--body", "{}").status == 1
    assert shell("api", "POST", "/v1/jobs", "--body", "{").status == 2


def test_nobody_there_to_do_it_exits_with_5(shell: Shell) -> None:
    assert shell("collection", "create", "c", "--tables", _file(shell, "t.json", '{"t": {}}')).status == 0
    ran = shell("search", "c", "anything")
    assert ran.status == 5
    assert "no live worker" in ran.talk


def test_a_collection_is_named_by_option_or_first(shell: Shell) -> None:
    assert shell("collection", "create", "two", "--tables", _file(shell, "t.json", '{"a": {}, "b": {}}')).status == 0
    assert shell("collection", "create", "one", _file(shell, "t.json", '{"a": {}}')).status == 0
    rows = _file(shell, "rows.jsonl", '{"id": "1", "name": "x"}')
    for words in (
        ["search", "anything", "-c", "one", "-t", "a", "--explain"],
        ["search", "one", "anything"],
        ["ingest", rows, "-c", "one"],
        ["ingest", rows, "-c", "two", "-t", "b"],
        ["ingest", "two", "b", rows],
    ):
        ran = shell(*words, "--no-wait", "--json")
        assert ran.status == 0, ran.talk
        assert ran.json["input"]["collection"] in ("one", "two")
    for words, said in (
        (["search", "anything"], "name the collection"),
        (["search", "any", "thing", "-c", "one"], "put the question in quotes"),
        (["ingest", rows], "name the collection"),
        (["ingest", rows, rows, "-c", "one"], "one file at a time"),
        (["ingest", rows, "-c", "two"], "choose one with -t: a, b"),
    ):
        ran = shell(*words)
        assert (ran.status, said in ran.talk) == (2, True), ran.talk
    assert shell("ingest", rows, "-c", "none").status == 3
    for name in ("one", "two"):
        assert shell("collection", "rm", name).status == 0


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"], ["jobs", "get"], ["execute", "no-such-file.py"], ["execute", "p.py", "--language", "cobol"],
        ["--url"], ["jobs", "ls", "--limit", "many"], ["execute", "p.py", "--label", "nonsense"],
        ["models", "set", "r", "x"],
        ["transform", "d.csv"], ["jobs", "get", ""],
    ],
)  # fmt: skip
def test_a_slip_exits_with_2(shell: Shell, words: list[str]) -> None:
    _file(shell, "p.py", "1")
    ran = shell(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.talk


def test_not_found_not_authorised_and_unreachable_are_told_apart(shell: Shell) -> None:
    assert shell("jobs", "get", "no-such-job").status == 3
    assert shell("jobs", "ls", "--api-key", "ask_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").status == 4
    assert shell("jobs", "ls", "--url", "http://127.0.0.1:9").status == 5
    assert shell("jobs", "ls", ASSAY_URL="http://127.0.0.1:9").status == 5


def test_quiet_says_nothing_and_lists_are_empty_lists(shell: Shell) -> None:
    assert shell("execute", _file(shell, "p.py", "1 + 1"), "--quiet").talk == ""
    assert shell("jobs", "ls", "--state", "dead", "--json").json["items"] == []


def test_doctor_finds_what_is_missing(shell: Shell) -> None:
    checks = {check["what"]: check for check in shell("doctor", "--json").json}
    assert checks["server"]["ok"]
    assert checks["kind execute"]["ok"]
    assert checks["kind detect"]["ok"]
    assert not checks["kind search"]["ok"]
    assert shell("doctor", "--url", "http://127.0.0.1:9").status == 1


def test_a_reader_that_has_seen_enough_is_no_error(shell: Shell) -> None:
    words = " ".join(Shell.command(["jobs", "ls", "--json"]))
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} | true"], cwd=shell.folder, env=dict(shell.env),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr


def test_a_killed_worker_comes_back_and_the_command_does_not_notice(shell: Shell) -> None:
    process = shell.start("execute", _file(shell, "nap.py", "import time\ntime.sleep(1)\nprint('done')"), "--json")
    assert process.stderr is not None
    process.stderr.readline()
    services = shell("status", "-o", "json").json["services"]
    os.kill(next(each["pid"] for each in services if each["name"] == "execution-1"), signal.SIGKILL)
    out, _ = process.communicate(timeout=90)
    assert json.loads(out)["result"]["stdout"] == "done\n"
    until(lambda: shell("status").status == 0, "everything runs again", 30)


def test_a_flow_is_begun_read_compared_and_taken_back(shell: Shell) -> None:
    empty = shell("flow", "new", "sketch")
    assert empty.status == 0
    (shell.folder / "login.mmd").write_text("flowchart LR\n  a[Login] --> b[Home]\n  click a callback\n")
    read = shell("flow", "import", "login.mmd")
    assert read.status == 0
    assert "line 3" in read.talk
    id = read.out.strip()
    call = {"tool_calls": [{"name": "addNode", "params": {"label": "Profile"}}]}
    assert shell("api", "POST", f"/v1/flows/{id}/operations", "--body", json.dumps(call)).status == 0
    versions = [each["version"] for each in shell("flow", "history", id, "--json").json["items"]]
    assert "Profile" in shell("flow", "diff", id, "1", str(max(versions))).out
    assert shell("flow", "undo", id).out.strip() == "undone"
    assert "Profile" not in shell("flow", "export", id).out


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
        '{"name": "web",\n "scripts": {"start": "node ."},\n "dependencies": {\n  "express": "4.18.2"}}\n'
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


def test_a_detection_is_a_tree_of_services_with_versions_and_evidence(shell: Shell, checkout: Path) -> None:
    ran = shell("detect", str(checkout), "--mode", "static")
    assert ran.status == 0, ran.talk
    lines = ran.out.splitlines()
    assert [line for line in lines if line[0].isalpha()][:2] == ["web: app, primary", "api (example.com/api): app"]
    for wanted in (
        "Express 4.18.2  [web/package.json:4]",
        "node 20.11.1, out of support  [web/.nvmrc:1]",
        "npm start, port 3001",
    ):
        assert any(wanted in line for line in lines), ran.out
    assert lines[-1].startswith("languages: JavaScript")
    explained = shell("detect", str(checkout), "--mode", "static", "--explain").out
    assert 'fw.express  web/package.json:4  "express": "4.18.2"' in explained
    assert len(explained) > len(ran.out)
    assert shell("detect", str(checkout), "--json").json["result"]["services"][0]["path"] == "web"
    assert "CMD" in shell("detect", str(checkout), "--format", "dockerfile").out
    assert json.loads(shell("detect", str(checkout), "--format", "cyclonedx").out)["specVersion"] == "1.6"


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


def test_definitions_are_kept_in_versions_and_used(shell: Shell, checkout: Path) -> None:
    good = "definitions:\n  - {id: acme, kind: framework, name: Acme, files: [index.js]}\n"
    bad = shell("definitions", "check", _file(shell, "bad.yaml", good.replace("framework", "tool")))
    assert bad.status == 1
    assert "line 2" in bad.talk
    assert shell("definitions", "set", _file(shell, "own.yaml", good)).out == "version 1, 1 definitions\n"
    assert shell("definitions", "get").out == good
    ran = shell("detect", str(checkout), "--mode", "static")
    assert "Acme (custom)" in ran.out
    assert "version 1 of your own" in ran.out
    assert "Acme" not in shell("detect", str(checkout), "--mode", "static", "--definitions", "0").out
    assert shell("definitions", "clear").out == "version 2, 0 definitions\n"
    assert shell("definitions", "rollback", "1").out == "version 3, 1 definitions\n"
    assert len(shell("definitions", "versions").out.splitlines()) == 4
    assert shell("definitions", "proposals", "--json").json["items"] == []
    assert shell("definitions", "promote", "language", "blorb").status == 3
    assert shell("definitions", "clear").status == 0


DOCUMENT = """&[n]{int min=1 max=9 def=4}

```python exec
x = n
y = "hello"
```

::: describe Describe these values: {{x}} and {{y}} :::

::: include part.md

```python exec
1 / 0
```
"""


def test_a_document_runs_and_prints_what_became_of_it(shell: Shell) -> None:
    report = _file(shell, "report.md", DOCUMENT)
    _file(shell, "part.md", "```python exec\nprint(x)\n```\n")
    ran = shell("doc", "run", report, "--file", "part.md", "--set", "n=5")
    assert ran.status == 0, ran.talk
    assert ran.out.startswith(DOCUMENT.partition("::: include")[0])
    assert "\nDescribed.\n:++\n" in ran.out
    assert "  ok line 8 instruction-1" in ran.talk
    assert ran.talk.count("ZeroDivisionError") == 2, "as the block ends, and once in the end"
    assert "report.md:12: error: ZeroDivisionError: division by zero [code_failed]" in ran.talk
    assert shell("doc", report, "--check", "--quiet").status == 1
    job = ran.talk.partition("--previous ")[2].split()[0]
    again = shell("doc", "run", report, "--file", "part.md", "--set", "n=5", "--previous", job, "-o", "done.md")
    assert (again.status, again.out) == (0, "")
    assert "5 fresh, 1 error" in again.talk
    assert (shell.folder / "done.md").read_text() == ran.out


def test_a_document_becomes_a_page(shell: Shell) -> None:
    ran = shell("doc", "run", _file(shell, "report.md", DOCUMENT), "-o", "out.html")
    assert (ran.status, ran.out) == (0, "")
    assert "Described." in (shell.folder / "out.html").read_text()
    seen = json.loads(shell("doc", "run", "report.md", "--json").out)["result"]["blocks"][2]
    assert seen["message_rendered"] == "Describe these values: 4 and hello"


def test_a_document_is_checked_without_running(shell: Shell) -> None:
    report = _file(shell, "report.md", DOCUMENT + "\n::: describe [bad!] it :::\n\n```python exec\nx = = 1\n```\n")
    ran = shell("doc", "check", report)
    assert ran.status == 1
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    assert ["8", "instruction", "instruction-1", "describe: Describe these values: {{x}} and {{y}}"] in rows
    assert 'parameter n: {"type": "integer", "default": 4, "maximum": 9, "minimum": 1}' in ran.out
    assert "report.md:10: error: The document's files have no part.md. (give it with --file)" in ran.out
    assert "report.md:16: error: [bad!] does not name models" in ran.out
    assert "report.md:18: error: Line 19: SyntaxError" in ran.out
    assert "ZeroDivisionError" not in ran.out
    assert shell("doc", "check", _file(shell, "good.md", "Text.\n")).status == 0
    assert shell("doc", "check", "nothing.md").status == 2


def test_a_document_is_estimated(shell: Shell) -> None:
    ran = shell("doc", "run", _file(shell, "report.md", DOCUMENT), "--dry-run")
    assert ran.out.splitlines()[0] == "line 8: Describe these values: 4 and hello"
    assert "1 model call," in ran.out.splitlines()[1]
    wrong = shell("doc", "run", "report.md", "--set", "n=50")
    assert (wrong.status, wrong.out) == (1, "")
    assert "input.parameters.n" in wrong.talk
