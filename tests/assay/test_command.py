"""The command with an installation: what runs, files, keys, flows, whatever the API has."""

from __future__ import annotations

import json
import subprocess
import uuid

import pytest

from services.host.folder import alive
from tests.assay.terminal import Shell, written


@pytest.mark.slow
def test_status_says_where_everything_is(shell: Shell) -> None:
    status = shell("status", "-o", "json").json
    assert {"url", "api_key", "database_url", "redis_url", "services"} <= set(status)
    names = [service["name"] for service in status["services"]]
    assert "execution-1" in names
    assert all(service["state"] == "ready" and alive(service["pid"]) for service in status["services"])
    assert shell("--json", "status").json == status
    lines = dict(line.removeprefix("export ").split("=", 1) for line in shell("status", "-o", "env").out.splitlines())
    assert lines == {"ASSAY_URL": status["url"], "ASSAY_API_KEY": status["api_key"]}
    assert shell("status").status == 0


@pytest.mark.slow
def test_the_first_request_that_up_prints_works(shell: Shell) -> None:
    again = shell("up", "-d")
    assert again.status == 0
    lines = again.out.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Try"))
    end = next(number for number in range(begin, len(lines)) if not lines[number].endswith("\\"))
    assert max(map(len, lines[begin : end + 1])) <= 100
    command = "\n".join(lines[begin : end + 1]).removeprefix("Try").strip()
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["result"]["value"]["text"] == "42"


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_file_that_is_a_table_is_read_and_described(shell: Shell) -> None:
    (shell.folder / "cities.csv").write_text("city,n\nOslo,3\nRome,10\nBergen,\n")
    id = shell("files", "put", "cities.csv").out.strip()
    ran = shell("files", "rows", id, "--sort", "-n", "--filter", "n:not_null", "--column", "city")
    assert ran.out.splitlines() == ["city", "Rome", "Oslo"], ran.talk
    assert "n\tint\t1\t2\t3\t10\t6.5\t3 (1), 10 (1)" in shell("files", "profile", id).out
    refused = shell("files", "rows", id, "--filter", "n:eq:x")
    assert (refused.status == 0, "does not fit its column's type" in refused.talk) == (False, True)


@pytest.mark.slow
def test_a_key_of_another_tenant_sees_nothing_and_may_do_what_its_scopes_say(shell: Shell) -> None:
    tenant = f"t{uuid.uuid4().hex[:8]}"
    made = shell("keys", "create", "--tenant", tenant, "--scope", "read", "--name", "n", "--json").json
    assert made["tenant"] == tenant
    assert made["scopes"] == ["read"]
    job = shell("execute", written(shell, "p.py", "1"), "--json").json
    assert shell("jobs", "get", job["id"], "--api-key", made["key"]).status == 3
    assert shell("--api-key", made["key"], "execute", "p.py").status == 4
    assert shell("jobs", "ls", "--json", ASSAY_API_KEY=made["key"]).json["items"] == []
    assert made["id"] in shell("keys", "ls").out
    assert shell("keys", "revoke", made["id"]).status == 0
    assert shell("jobs", "ls", "--api-key", made["key"]).status == 4


@pytest.mark.slow
def test_any_request_can_be_sent(shell: Shell) -> None:
    body = {"kind": "execute", "input": {"language": "python", "code": "1"}}
    job = shell("api", "POST", "/v1/jobs", "--body", json.dumps(body)).json
    assert shell("api", "get", f"/v1/jobs/{job['id']}").json["id"] == job["id"]
    assert shell("api", "POST", "/v1/jobs", "--body", "-", stdin=json.dumps(body)).json["kind"] == "execute"
    assert shell("api", "GET", "/v1/nothing").status == 3
    assert shell("api", "POST", "/v1/jobs", "--body", "{}").status == 1
    assert shell("api", "POST", "/v1/jobs", "--body", "{").status == 2


@pytest.mark.slow
def test_filters_are_typed_as_values_or_as_json_and_may_name_a_field_twice(shell: Shell) -> None:
    spec = json.dumps({"a": {"fields": {"stars": "integer", "pool": "bool"}}})
    assert shell("collection", "create", "hotels", spec).status == 0
    asked = ("search", "x", "-c", "hotels", "--no-wait", "--json")
    for filters, sent in (
        (["pool=null"], {"pool": None}),
        (['pool={"not": true}', "stars=4"], {"pool": {"not": True}, "stars": 4}),
        (['or=[{"pool": true}, {"stars": 4}]'], {"or": [{"pool": True}, {"stars": 4}]}),
        (['stars={"gte": 3}', 'stars={"not": 4}'], {"and": [{"stars": {"gte": 3}}, {"stars": {"not": 4}}]}),
    ):
        ran = shell(*asked, *(word for each in filters for word in ("--filter", each)))
        assert ran.json["input"]["filters"] == sent


@pytest.mark.slow
def test_a_collection_is_named_by_option_or_first(shell: Shell) -> None:
    assert shell("collection", "create", "two", "--tables", written(shell, "t.json", '{"a": {}, "b": {}}')).status == 0
    assert shell("collection", "create", "one", json.dumps({"a": {}}) + " " * 5000).status == 0
    assert "there is no file" in shell("collection", "create", "one", "x" * 5000).talk
    assert "the text is not JSON" in shell("collection", "create", "one", '{"a": ').talk
    rows = written(shell, "rows.jsonl", '{"id": "1", "name": "x"}')
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


@pytest.mark.slow
def test_quiet_says_nothing_and_lists_are_empty_lists(shell: Shell) -> None:
    assert shell("execute", written(shell, "p.py", "1 + 1"), "--quiet").talk == ""
    assert shell("jobs", "ls", "--state", "dead", "--json").json["items"] == []


@pytest.mark.slow
def test_doctor_finds_what_is_missing(shell: Shell) -> None:
    checks = {check["what"]: check for check in shell("doctor", "--json").json}
    assert checks["server"]["ok"]
    assert checks["kind execute"]["ok"]
    assert checks["kind detect"]["ok"]
    assert not checks["kind search"]["ok"]
    assert shell("doctor", "--url", "http://127.0.0.1:9").status == 1


@pytest.mark.slow
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


@pytest.mark.slow
def test_jobs_that_fit_are_run_again_and_cancelled(shell: Shell) -> None:
    (shell.folder / "one.py").write_text("1")
    job = shell("execute", "one.py", "--label", "bulk=command", "--json")
    assert job.status == 0, job.talk
    again = shell("jobs", "replay-all", "--label", "bulk=command", "--json").json
    assert [(each["id"], each["ok"]) for each in again["items"]] == [(job.json["id"], True)]
    ended = shell("jobs", "cancel-all", "--state", "succeeded", "--label", "bulk=command")
    assert (ended.status, "already ended" in ended.out) == (1, True)
    assert shell("jobs", "cancel-all").status == 2
