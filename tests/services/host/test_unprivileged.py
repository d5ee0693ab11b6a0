"""As root, the processes of an installation are not root, wherever its parts are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.host import bind_mounts, unprivileged
from services.host.folder import InstallationFolder
from services.host.processes import PROCESSES
from shared import blobs
from tests.services.host.root import gives_up_root

pytestmark = gives_up_root
_UID = 62001
_ATTACK = """
import os, sys
pid, outcomes = int(sys.argv[1]), []
for act in (lambda: os.kill(pid, 9), lambda: open(f"/proc/{pid}/mem"), lambda: open(f"/proc/{pid}/environ")):
    try:
        act()
    except OSError as error:
        outcomes.append(type(error).__name__)
print(outcomes)
"""
_CHANGE = """
import os, sys
path, outcomes = sys.argv[1], []
size = len(open(path, "rb").read())
added = f"{path}-{os.getuid()}"
for act in (lambda: open(added, "w").close(), lambda: os.rename(path, path + "y"), lambda: os.unlink(path + "y")):
    try:
        act()
    except OSError as error:
        outcomes.append(error.errno)
print(size, outcomes)
"""
_WRITE = "import os, sys; open(sys.argv[1], 'w').close(); print(os.getuid(), sorted(os.listdir(sys.argv[2])))"


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that only root may enter."""
    folder = Path(tempfile.mkdtemp(prefix="assay-closed-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def chosen(home: Path, port: int = 8000, blobs: str = "", **ours: str) -> unprivileged.Accounts:
    folder = InstallationFolder(home)
    return unprivileged.accounts(folder, PROCESSES, _UID, port, blobs or folder.blobs.as_uri(), ours)


def test_code_of_strangers_runs_under_another_user_than_what_holds_keys(servers_folder: Path) -> None:
    accounts = chosen(servers_folder / "home")
    gateway, execution = accounts.of("gateway"), accounts.of("execution")
    assert gateway is not None, accounts.why_not
    if execution is None:
        pytest.skip(accounts.why_not)
    assert (gateway.uid, execution.uid) == (_UID, _UID + 1)
    assert {gateway.gid, execution.gid} == {_UID, accounts.group}


def test_every_process_has_a_user_of_its_own_and_the_parsers_a_group(servers_folder: Path) -> None:
    accounts = chosen(servers_folder / "home")
    named = accounts.by_name
    assert set(named) >= {process.name for process in PROCESSES} - {"execution"} | {"parsers", "scripted-llm"}
    assert len({account.uid for account in named.values()}) == len(named)
    assert {account.gid for name, account in named.items() if name != "parsers"} == {_UID}
    assert named["parsers"].gid == named["parsers"].uid


def test_no_process_ends_another_or_reads_its_memory(servers_folder: Path) -> None:
    def command_of(name: str, program: str, *words: str) -> list[str]:
        account = accounts.by_name[name]
        tried = [sys.executable, "-I", "-S", str(bind_mounts.__file__), str(account.uid), str(account.gid)]
        return [*tried, *account.hidden, "--", *account.shown, "--", sys.executable, "-c", program, *words]

    accounts = chosen(servers_folder / "home")
    sleeping = command_of("gateway", "print(1, flush=True); input()")
    with subprocess.Popen(sleeping, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"1\n"
        command = command_of("flows", _ATTACK, str(victim.pid))
        attack = subprocess.run(command, capture_output=True, text=True, check=False)
        assert attack.stdout == "['PermissionError', 'PermissionError', 'PermissionError']\n", attack.stderr
        victim.kill()


@pytest.mark.parametrize("name", ["gateway", "execution", "reconciler", "broker", "search", "flows", "stacks"])
def test_a_process_whose_work_keeps_no_files_changes_and_deletes_none(servers_folder: Path, name: str) -> None:
    home = servers_folder / "home"
    accounts = chosen(home)
    account = accounts.of(name)
    if account is None:
        pytest.skip(accounts.why_not)
    unprivileged.hand_over(InstallationFolder(home), _UID)
    kept = blobs.write(blobs.open_store((home / "blobs").as_uri()), b"of a tenant")
    unprivileged.hand_over(InstallationFolder(home), _UID)
    for each in (home / "blobs", *(home / "blobs").rglob("*")):  # as the services leave it
        os.chown(each, _UID, _UID)
        each.chmod(0o2770 if each.is_dir() else 0o440)
    read_only = [bind_mounts.READ_ONLY + folder for folder in account.read_only]
    tried = [sys.executable, "-I", "-S", str(bind_mounts.__file__), str(account.uid), str(account.gid)]
    command = [*tried, *account.hidden, *read_only, "--", *account.shown, "--", sys.executable, "-c", _CHANGE]
    content = home / "blobs" / blobs.place(kept.sha256)
    ran = subprocess.run([*command, str(content)], capture_output=True, text=True, check=False)
    if name in ("gateway", "execution", "reconciler"):
        assert ran.stdout == "11 []\n", ran.stderr
        assert not content.exists()
    else:
        assert ran.stdout == "11 [30, 30, 30]\n", ran.stderr  # EROFS
        assert content.read_bytes() == b"of a tenant"


def test_where_plugins_add_to_services_they_keep_files(servers_folder: Path) -> None:
    assert chosen(servers_folder / "home", ASSAY_PLUGINS="mine").by_name["search"].read_only == ()


def test_only_root_listens_on_its_ports(servers_folder: Path) -> None:
    if unprivileged._first_open_port() <= 80:
        pytest.skip("here anyone may listen on port 80")
    accounts = chosen(servers_folder / "home", port=80)
    assert accounts.of("gateway") is None
    assert accounts.of("search") is not None
    assert "only root may listen on port 80" in accounts.why_not


def test_what_cannot_be_reached_keeps_all_of_them_root_and_is_told(servers_folder: Path, closed: Path) -> None:
    accounts = chosen(servers_folder / "home", blobs=closed.as_uri())
    assert accounts.by_name == {}
    assert "the folder that BLOB_URL names is not" in accounts.why_not


def test_of_a_folder_that_only_root_may_enter_no_more_is_seen_than_needed(closed: Path) -> None:
    (closed / "secret").write_text("of root")
    home = closed / "below" / "home"
    (closed / "of-root-alone").mkdir(mode=0o700)  # what a setting names is shown, and leaves no process root
    accounts = chosen(home, ASSAY_DETECT_ROOTS=f"{closed / 'of-root-alone'}:{closed / 'nothing'}")
    account = accounts.of("gateway")
    assert account is not None, accounts.why_not
    unprivileged.hand_over(InstallationFolder(home), _UID)
    words = [str(_UID), str(_UID), *account.hidden, "--", *account.shown, "--"]
    python = [sys.executable, "-I", "-S", "-c", _WRITE, str(home / "blobs" / "written"), str(closed / "below")]
    told = subprocess.run(
        [sys.executable, "-I", "-S", str(bind_mounts.__file__), *words, *python],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.stdout == f"{_UID} ['home']\n", told.stderr
    written = home / "blobs" / "written"
    assert (written.stat().st_uid, written.stat().st_gid) == (_UID, _UID)
    read = [sys.executable, "-I", "-S", "-c", "import sys; open(sys.argv[1])", str(closed / "secret")]
    refused = subprocess.run(
        [sys.executable, "-I", "-S", str(bind_mounts.__file__), *words, *read],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "FileNotFoundError" in refused.stderr


def test_what_an_older_installation_has_is_handed_over(servers_folder: Path) -> None:
    home = servers_folder / "handed-over"
    (home / "blobs" / "ab").mkdir(parents=True)
    (home / "blobs" / "ab" / "file").write_text("content")
    (home / "blobs" / "link").symlink_to("/etc/shadow")
    before = os.stat("/etc/shadow").st_uid
    unprivileged.hand_over(InstallationFolder(home), _UID)
    inside = home / "blobs" / "ab" / "file"
    assert (inside.stat().st_gid, inside.stat().st_mode & 0o777) == (_UID, 0o660)
    assert inside.parent.stat().st_mode & 0o7777 == 0o2770
    assert os.stat("/etc/shadow").st_uid == before
