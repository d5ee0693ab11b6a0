"""``up`` keeps everything running and ``down`` leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from services.host import bind_mounts, unprivileged
from services.host.folder import InstallationFolder, Status, alive, current_status, stop
from services.host.installation import free_port
from services.host.processes import PROCESSES
from tests.services.host.root import gives_up_root
from tests.support import forks
from tests.support.wait import until

pytestmark = pytest.mark.slow(seconds=2)
ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., "RunningInstallation"]
_IMPORTS = ("services.host.preflight", "services.host.installation", "services.host.supervisor")
_SECRETS = {"GROQ_API_KEY": "gsk-test", "UNRELATED_PASSWORD": "hunter2", "ASSAY_API_KEY": "ask_x_y"}


class RunningInstallation:
    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder = InstallationFolder(folder)
        self.process = process

    @property
    def status(self) -> Status:
        status = current_status(self.folder)
        assert status is not None
        return status

    def ready(self) -> Status:
        def ready() -> Status | None:
            assert self.process.poll() is None, self.process.communicate()
            status = current_status(self.folder)
            return status if status is not None and status.ready else None

        return until(ready, "the installation is ready", 60)

    def pids(self) -> dict[str, int]:
        return {service.name: service.pid for service in self.status.services if service.pid is not None}


@contextmanager
def _running(folder: Path, table: str, env: Mapping[str, str]) -> Iterator[RunningInstallation]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.services.host.supervise", table],
        cwd=ROOT,
        env={**_without_servers(), "ASSAY_HOME": str(folder), "ASSAY_PORT": "0", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    installation = RunningInstallation(folder, process)
    try:
        yield installation
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def prepared(servers_folder: Path) -> Path:
    """An installation that has run once: copies of it start without making and migrating a database."""
    folder = servers_folder / "prepared"
    with _running(folder, "steady", {}) as installation:
        installation.ready()
    return folder


@pytest.fixture
def run(servers_folder: Path, prepared: Path) -> Iterator[Run]:
    with ExitStack() as stack:

        def start(table: str, folder: Path | None = None, **env: str) -> RunningInstallation:
            copy = folder is None
            folder = folder or servers_folder / uuid.uuid4().hex[:8]
            if copy:
                subprocess.run(["cp", "-a", prepared, folder], check=True)
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
            return stack.enter_context(_running(folder, table, env))

        yield start


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _without_servers() -> dict[str, str]:
    servers = ("DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL")
    return {name: value for name, value in os.environ.items() if name not in servers}


def test_a_server_that_does_not_start_says_why(servers_folder: Path, prepared: Path) -> None:
    folder = servers_folder / "refused"
    subprocess.run(["cp", "-a", prepared, folder], check=True)
    (folder / "postgres" / "data").chmod(0o755)
    with _running(folder, "steady", {}) as installation:
        assert installation.process.wait(60) != 0
        assert installation.process.stderr is not None
        assert "invalid permissions" in installation.process.stderr.read()


def test_everything_starts_and_stops_softly_and_nothing_is_left(run: Run) -> None:
    installation = run("steady")
    status = installation.ready()
    names = [service.name for service in status.services if service.name != "parsers"]  # which only root's has
    assert names == ["postgres", "redis", "steady-1", "steady-2"]
    pids = installation.pids()
    assert stop(installation.folder)
    assert not any(alive(pid) for pid in pids.values())
    for name in ("steady-1", "steady-2"):
        assert (installation.folder.run / f"{name}.ended").exists()
    assert not installation.status.ready
    assert {service.state for service in installation.status.services} == {"stopped"}
    assert not stop(installation.folder)


def test_a_second_start_keeps_the_key_and_the_data(run: Run, servers_folder: Path) -> None:
    folder = servers_folder / "twice"
    first = run("steady", folder)
    key = first.ready().api_key
    with psycopg.connect(first.status.database_url) as connection:
        connection.execute("CREATE TABLE kept (n int)")
    stop(first.folder)
    again = run("steady", folder)
    assert again.ready().api_key == key
    with psycopg.connect(again.status.database_url) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


@pytest.mark.parametrize("name", ["steady-1", "redis", "postgres"])
def test_a_killed_process_is_started_again_as_often_as_it_takes(run: Run, name: str) -> None:
    installation = run("steady")
    installation.ready()
    for _ in range(3):
        before = installation.pids()
        os.kill(before[name], signal.SIGKILL)
        until(
            lambda before=before: installation.pids().get(name) not in (None, before[name]),  # type: ignore[misc]
            f"{name} has a new process",
        )
        installation.ready()
        others = {other: pid for other, pid in installation.pids().items() if other != name}
        assert others == {other: pid for other, pid in before.items() if other != name}


def test_a_dead_process_shows_at_once(run: Run) -> None:
    installation = run("steady")
    installation.ready()
    os.kill(installation.process.pid, signal.SIGSTOP)
    died = installation.pids()["steady-2"]
    os.kill(died, signal.SIGKILL)
    until(lambda: not installation.status.ready, "the status says so, though the supervisor sleeps")
    os.kill(installation.process.pid, signal.SIGCONT)
    until(lambda: installation.pids().get("steady-2") not in (None, died), "it runs again")


def test_a_process_that_keeps_dying_at_its_start_gets_there_in_the_end(run: Run) -> None:
    installation = run("fragile")
    installation.ready()
    assert (installation.folder.run / "fragile.runs").read_text() == "xxxx"


def test_nothing_outlives_a_killed_supervisor(run: Run) -> None:
    installation = run("steady")
    installation.ready()
    pids = installation.pids()
    installation.process.kill()
    until(lambda: not any(alive(pid) for pid in pids.values()), "everything is gone")
    assert not installation.status.ready


def test_a_killed_prefork_process_takes_its_children_along_and_all_come_back(run: Run) -> None:
    installation = run("steady")
    before = installation.ready()
    pids = installation.pids()
    os.kill(_parent(pids["steady-1"]), signal.SIGKILL)
    until(lambda: installation.pids().get("steady-1") not in (None, pids["steady-1"]), "there is a new process")
    installation.ready()
    assert not alive(pids["steady-1"])
    assert not alive(pids["steady-2"])
    assert installation.pids()["postgres"] == pids["postgres"]
    assert installation.status.url == before.url


@pytest.fixture(scope="module")
def installation(servers_folder: Path, prepared: Path) -> Iterator[RunningInstallation]:
    """One for the tests that only look."""
    folder = servers_folder / "looked-at"
    subprocess.run(["cp", "-a", prepared, folder], check=True)
    with _running(folder, "steady", _SECRETS) as running:
        running.ready()
        yield running


def test_the_database_is_migrated_and_the_printed_key_is_known(installation: RunningInstallation) -> None:
    status = installation.status
    assert status.api_key is not None
    with psycopg.connect(status.database_url) as connection:
        row = connection.execute("SELECT scopes FROM api_keys WHERE id = %s", [status.api_key.split("_")[1]]).fetchone()
    assert row is not None
    assert set(row[0]) == {"read", "write", "admin"}


def test_processes_are_named_for_what_they_are(installation: RunningInstallation) -> None:
    words = Path(f"/proc/{installation.pids()['steady-1']}/cmdline").read_bytes().split(b"\0")
    assert words[1:3] == [b"-m", b"tests.support.processes.steady"]


@gives_up_root
def test_of_roots_installation_only_the_supervisor_is_root(installation: RunningInstallation) -> None:
    processes = installation.pids()
    users = {name: Path(f"/proc/{pid}/status").read_text() for name, pid in processes.items()}
    ours = {name: next(line for line in lines.splitlines() if line.startswith("Uid:")) for name, lines in users.items()}
    assert ours["steady-1"] == ours["steady-2"] == "Uid:\t62001\t62001\t62001\t62001"
    assert ours["parsers"] == "Uid:\t62003\t62003\t62003\t62003"
    assert not any(re.search(r"\b0\b", line) for line in ours.values())


_PARSED = """
import json
from shared.bounded_process import Bounds, call
print(json.dumps(call("shared.confinement:tried", None, Bounds())))
"""
#: A reader that opens its file by a path once more, which the parsers' user may not read by its owner's rights.
_INGESTED = """
import threading
from tempfile import TemporaryFile
from services.search.records.spool import spooled
from shared.contracts.search import TableSpec
with TemporaryFile() as source:
    source.write(b"name,n\\nOslo,1\\n")
    spec = TableSpec.model_validate({"fields": {"n": "integer"}})
    with spooled(source, "csv", "places", spec, threading.Event(), name="places.csv") as records:
        print(len(records))
"""
_REFUSED = """
import socket, sys
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
"""
_REACHED = """
import os, sys
print([path for path in sys.argv[1:] if os.access(path, os.R_OK)])
"""


@gives_up_root
def test_what_a_service_has_read_is_read_by_a_user_that_reaches_nothing_of_the_installation(
    installation: RunningInstallation,
) -> None:
    folder = installation.folder
    gateway = unprivileged.accounts(folder, PROCESSES, 62001, 8000, folder.blobs.as_uri(), {}).by_name["gateway"]
    address = str(unprivileged.parsers_folder(installation.folder) / "socket")
    environment = {"PYTHONPATH": str(ROOT), "ASSAY_PARSERS_SOCKET": address}

    def as_user(uid: int, gid: int, program: str, *words: str) -> str:
        tried = [sys.executable, "-I", "-S", str(bind_mounts.__file__), str(uid), str(gid)]
        command = [*tried, *gateway.hidden, "--", *gateway.shown, "--", sys.executable, "-c", program, *words]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    held = json.loads(as_user(62001, 62001, _PARSED))
    assert held.pop("user") == 62003
    assert all(held.values())
    assert as_user(62001, 62001, _INGESTED) == "1\n"
    home = installation.folder.path
    folders = [
        str(home / name) for name in ("blobs", "run", "search", "secrets", "postgres/data", "redis/data", "logs")
    ]
    memory = [f"/proc/{pid}/environ" for name, pid in installation.pids().items() if name != "parsers"]
    assert as_user(62003, 62003, _REACHED, *folders, str(home / "credentials.json"), *memory) == "[]\n"
    # Who is neither a service nor the parsers does not have anything read.
    assert "PermissionError" in as_user(62009, 62009, _REFUSED, address)


def test_keys_of_providers_go_only_to_those_that_ask_models(installation: RunningInstallation) -> None:
    seen = json.loads((installation.folder.run / "steady-1.env.json").read_text())
    assert seen["GROQ_API_KEY"] == "gsk-test"
    assert "UNRELATED_PASSWORD" not in seen
    assert "ASSAY_API_KEY" not in seen
    assert seen["DATABASE_URL"] == installation.status.database_url


def test_two_installations_run_side_by_side_but_not_two_in_one_folder(
    installation: RunningInstallation, run: Run
) -> None:
    one, other = installation, run("steady")
    assert one.ready().url != other.ready().url
    env = {**_without_servers(), "ASSAY_HOME": str(one.folder.path), "ASSAY_PORT": "0"}
    command = [sys.executable, "-m", "tests.services.host.supervise", "steady"]
    second = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "already running" in second.stderr
    assert one.status.ready


def test_up_on_a_running_installation_names_the_settings_that_are_different(
    installation: RunningInstallation, run: Run
) -> None:
    env = {**_without_servers(), "ASSAY_HOME": str(installation.folder.path), "GROQ_API_KEY": "gsk-other"}
    told = _host({**env, "ASSAY_LEASE_SECONDS": "7"}, "up")
    assert told.status == 0, told.talk
    assert "Assay is already running. It still uses the settings that it was started with" in told.talk
    assert "ASSAY_LEASE_SECONDS is new" in told.talk
    assert "GROQ_API_KEY is different" in told.talk
    assert "`assay down`, then `assay up`, to use these." in told.talk
    assert "gsk-" not in told.talk
    kept = (installation.folder.path / "settings.json").read_text()
    assert "GROQ_API_KEY" in kept
    assert "gsk-" not in kept


def test_an_unknown_process_among_the_replicas_is_a_usage_error(tmp_path: Path) -> None:
    for text in ("gatway=2", "execution=many", "execution"):
        env = {**_without_servers(), "ASSAY_HOME": str(tmp_path), "ASSAY_REPLICAS": text, "ASSAY_PORT": "0"}
        answer = _host(env, "up")
        assert answer.status == 2
        assert "ASSAY_REPLICAS" in answer.talk


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        answer = _host({**_without_servers(), "ASSAY_HOME": str(tmp_path), "ASSAY_PORT": str(port)}, "up", "-d")
    assert answer.status == 1
    assert str(port) in answer.talk
    assert free_port("127.0.0.1", 0) > 0


@pytest.mark.parametrize(
    ("variable", "value", "status"),
    [
        ("ASSAY_RETENTION_DAYS", "abc", 2),
        ("ASSAY_PORT", "many", 2),
        ("REDIS_URL", "redis://127.0.0.1:1/0", 5),
        ("REDIS_URL", "nonsense", 5),
        ("DATABASE_URL", "postgresql://127.0.0.1:1/x", 5),
    ],
)
def test_settings_that_do_not_fit_and_servers_that_are_away_are_named_at_once(
    tmp_path: Path, variable: str, value: str, status: int
) -> None:
    answer = _host({**_without_servers(), "ASSAY_HOME": str(tmp_path / "home"), variable: value}, "up", "-d")
    assert answer.status == status
    assert answer.talk.startswith(variable)
    assert not (tmp_path / "home" / "postgres").exists()  # nothing was started


def test_a_setting_of_one_process_that_does_not_fit_ends_the_start_with_its_name(run: Run) -> None:
    installation = run("gateway", ASSAY_UPLOAD_BYTES="many")
    _, told = installation.process.communicate(timeout=60)
    assert installation.process.returncode == 1
    assert "gateway-1: ASSAY_UPLOAD_BYTES must be a whole number" in told


def test_status_before_the_first_start_exits_with_5(tmp_path: Path) -> None:
    env = {**_without_servers(), "ASSAY_HOME": str(tmp_path / "none"), "ASSAY_PORT": "8123"}
    answers = {output: _host(env, "status", "-o", output) for output in ("text", "json", "env")}
    assert [answer.status for answer in answers.values()] == [5, 5, 5]
    assert json.loads(answers["json"].out)["services"] == []
    assert answers["env"].out == ""  # nothing that a shell could take for an installation
    assert _host({**_without_servers(), "ASSAY_HOME": str(tmp_path / "none")}, "down").status == 0


def _host(env: Mapping[str, str], *words: str) -> forks.Ran:
    return forks.run("services.host", words, env, ROOT, imports=_IMPORTS)
