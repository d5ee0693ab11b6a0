"""The installation on this machine: found from any folder, and honest about what it lacks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest

from assay.webhooks import verify
from shared import VERSION
from tests.assay.terminal import SCRIPT, Shell
from tests.support.forks import run
from tests.support.wait import until


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_an_installation_is_found_from_any_folder(shell: Shell, tmp_path: Path) -> None:
    elsewhere = Shell(tmp_path, {name: value for name, value in shell.env.items() if name != "ASSAY_HOME"})
    assert json.loads(elsewhere("jobs", "ls", "--json").out)["items"] is not None
    url = json.loads(shell("status", "-o", "json").out)["url"]
    assert url in elsewhere("status").out


@pytest.mark.slow
def test_the_environment_of_status_is_exported(shell: Shell) -> None:
    lines = shell("status", "-o", "env").out.splitlines()
    assert [line.partition("=")[0] for line in lines] == ["export ASSAY_URL", "export ASSAY_API_KEY"]


@pytest.mark.slow
def test_status_and_doctor_name_a_frozen_redis(shell: Shell) -> None:
    status = json.loads(shell("status", "-o", "json").out)
    assert status["ready"]
    pid = next(service["pid"] for service in status["services"] if service["name"] == "redis")
    with frozen(pid):
        told = until(lambda: ran if (ran := shell("status")).status == 5 else None, "status tells", 30)
        assert "redis            degraded    Redis does not answer" in told.out
        doctor = shell("doctor")
        assert doctor.status == 1
        assert "FAIL redis" in doctor.out
        assert f"server {VERSION}, command {VERSION}" in doctor.out
    until(lambda: shell("status").status == 0, "it is ready again", 30)


class _Receiver(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.got: list[tuple[dict[str, str], bytes]] = []


class _Answer(BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((dict(self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.slow
def test_listen_brings_signed_webhooks_to_this_machine(shell: Shell) -> None:
    with _Receiver() as receiver:
        thread = Thread(target=receiver.serve_forever)
        thread.start()
        listening = shell.start("listen", "--forward-to", f"http://127.0.0.1:{receiver.server_port}/hook")
        try:
            assert listening.stderr is not None
            assert "forwarding to" in listening.stderr.readline()
            program = shell.folder / "answer.py"
            program.write_text("6 * 7\n")
            job = shell("execute", str(program), "--json").json
            until(lambda: receiver.got, "a delivery", 30)
        finally:
            listening.send_signal(signal.SIGINT)
            listening.communicate(timeout=30)
            receiver.shutdown()
            thread.join()
    [secret, *_] = shell("webhooks", "secrets", "--json").json["items"]
    [(headers, body)] = receiver.got
    assert verify(body, headers, secret["secret"])["data"]["id"] == job["id"]
    log = shell("jobs", "deliveries", job["id"])
    assert "no webhook: no further attempt" in log.out
    assert shell("jobs", "redeliver", job["id"]).status == 2


@pytest.mark.slow
def test_workers_and_the_gateway_log_a_line_for_every_job(shell: Shell) -> None:
    program = shell.folder / "logged.py"
    program.write_text("6 * 7\n")
    job = shell("execute", str(program), "--json").json["id"]
    logs = Path(shell.env["ASSAY_HOME"]) / "logs"

    def lines(name: str, event: str) -> list[dict[str, Any]]:
        text = (logs / f"{name}.log").read_text()
        told = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [line for line in told if line["event"] == event and line.get("job_id") == job]

    [ended] = until(lambda: lines("execution-1", "job_ended"), "the worker's line")
    assert {name: ended[name] for name in ("tenant", "kind", "attempt", "outcome")} == {
        "tenant": "default", "kind": "execute", "attempt": 1, "outcome": "succeeded",
    }  # fmt: skip
    assert ended["seconds"] >= 0
    submitted = [line for line in lines("gateway-1", "request") if line["method"] == "POST"]
    assert [(line["tenant"], line["status"]) for line in submitted] == [("default", 202)]


@pytest.mark.slow
def test_jobs_are_named_by_the_beginning_of_their_id_or_as_the_last(shell: Shell) -> None:
    program = shell.folder / "named.py"
    program.write_text("6 * 7\n")
    ids = [shell("execute", str(program), "--json").json["id"] for _ in range(2)]
    assert shell("jobs", "get", "@last", "--json").json["id"] == ids[1]
    assert shell("jobs", "get", ids[0][:-1], "--json").json["id"] == ids[0]
    ambiguous = shell("jobs", "get", ids[0][:4])
    assert ambiguous.status == 2
    assert f"{ids[0][:4]} is the beginning of" in ambiguous.talk
    assert shell("jobs", "get", "ffff").status == 3
    assert shell("jobs", "rm", "@last").status == 0
    assert shell("jobs", "get", ids[1]).status == 3
    assert shell("jobs", "get", "@last", "--json").json["id"] == ids[0]


@pytest.mark.slow
def test_the_last_administrators_key_is_not_revoked_by_mistake(shell: Shell) -> None:
    [key] = [key["id"] for key in shell("keys", "ls", "--json").json["items"] if "admin" in key["scopes"]]
    refused = shell("keys", "revoke", key)
    assert refused.status == 1
    assert "--force" in refused.talk
    assert shell("keys", "ls").status == 0


@pytest.mark.slow
def test_an_upgrade_keeps_what_there_is(shell: Shell) -> None:
    """Last here: the installation that the other tests use starts again."""
    program = shell.folder / "upgraded.py"
    program.write_text("6 * 7\n")
    job = shell("execute", str(program), "--json").json["id"]
    before = shell("status", "-o", "json").json["services"]
    refused = shell("upgrade", ASSAY_LEASE_SECONDS="7")
    assert refused.status == 2
    assert "ASSAY_LEASE_SECONDS is different" in refused.talk
    assert shell("status", "-o", "json").json["services"] == before

    file = shell.folder / "before.backup"
    ran = shell("upgrade", "--script", str(SCRIPT), "--backup", str(file))
    assert ran.status == 0, ran.talk
    assert f"Assay {VERSION} runs, after " in ran.talk
    assert file.stat().st_size > 1000
    after = shell("status", "-o", "json").json["services"]
    assert {each["pid"] for each in before}.isdisjoint(each["pid"] for each in after)
    assert shell("jobs", "get", job, "--json").json["state"] == "succeeded"


@pytest.mark.slow
def test_an_upgrade_whose_backup_fails_changes_nothing(shell: Shell) -> None:
    before = shell("status", "-o", "json").json["services"]
    nowhere = shell.folder / "not a folder"
    nowhere.write_text("")
    refused = shell("upgrade", "--script", str(SCRIPT), "--backup", str(nowhere / "x.backup"))
    assert refused.status == 1
    assert "Nothing was changed." in refused.talk
    assert shell("status", "-o", "json").json["services"] == before


@pytest.mark.slow
def test_the_first_job_of_a_deployment_runs_or_says_why_not_and_leaves_no_key(shell: Shell) -> None:
    """As `helm test` runs it."""
    status = shell("status", "-o", "json").json
    secret = shell.folder / "database_url"
    secret.write_text(f"{status['database_url']}\n")
    env = {**shell.env, "DATABASE_URL_FILE": str(secret), "ASSAY_FIRST_JOB_SECONDS": "60"}
    ran = run("services.host.first_job", [status["url"]], env, shell.folder)
    assert (ran.status, "printed 42" in ran.out) == (0, True), ran.talk
    at_once = {**env, "ASSAY_FIRST_JOB_SECONDS": "0"}
    gone = run("services.host.first_job", ["http://127.0.0.1:1"], at_once, shell.folder)
    assert (gone.status, "does not answer" in gone.talk) == (1, True)
    with psycopg.connect(status["database_url"]) as connection:
        left = connection.execute("SELECT count(*) FROM api_keys WHERE tenant_id = 'first-job' AND revoked_at IS NULL")
        assert left.fetchone() == (0,)
