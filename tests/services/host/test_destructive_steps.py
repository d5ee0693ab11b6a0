"""Restore, backup and migration do everything or nothing: killed, on a full disk, with damaged input, without server.

Each step is one row of ``docs/host.md``'s table; each cell of the row is a test here.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert

from migrations.upgrade import current, migrate, migrating
from services.host import restore, search_store
from services.host.archive import MANIFEST
from services.host.folder import InstallationFolder
from services.host.postgres import Postgres
from shared import blobs
from shared.db import connect
from shared.jobs.record import submission
from tests.assay.terminal import plain
from tests.support.forks import Ran, run
from tests.support.rows import job_row

_IMPORTS = ("alembic.command", "services.host.backup_commands", "shared.jobs.record.tables", "tests.support.killed")


def command(module: str, *words: str, env: Mapping[str, str], folder: Path, kill: tuple[str, int] | None = None) -> Ran:
    """Run ``python -m module words`` to its end, or until it is killed at the Nth call of a function."""
    if kill is not None:
        module, words = "tests.support.killed", (kill[0], str(kill[1]), module, *words)
    return run(module, words, env, folder, imports=_IMPORTS)


@dataclass(frozen=True)
class Installation:
    """Stopped servers' worth of data: tables, files and a search store."""

    home: Path
    url: str

    @property
    def store(self) -> Path:
        return self.home / search_store.NAME

    def fill(self, word: str) -> None:
        """Hold one job, one file and a search store that are all of this word, and nothing else."""
        kept = blobs.write(blobs.open_store((self.home / "blobs").as_uri()), word.encode() * 100)
        engine = connect(self.url)
        with engine.begin() as connection:
            connection.exec_driver_sql("TRUNCATE jobs, files CASCADE")
            connection.execute(submission.submit(job_row(input={"code": word})))
            row = {"id": word, "tenant_id": "t", "name": word, "size": kept.size, "sha256": kept.sha256}
            connection.execute(insert(blobs.files).values(**row, media_type="text/plain"))
        engine.dispose()
        shutil.rmtree(self.store, ignore_errors=True)
        for number in range(3):
            file = self.store / f"c{number}" / "vectors"
            file.parent.mkdir(parents=True)
            file.write_text(f"{word} {number}\n" * 50)

    def words(self) -> set[str]:
        """Return the words that anything of it is of; every file that a row names can be read."""
        with psycopg.connect(self.url) as connection:
            words = {row[0] for row in connection.execute("SELECT input->>'code' FROM jobs")}
            files = connection.execute("SELECT name, sha256 FROM files").fetchall()
        for name, sha256 in files:
            with blobs.read(blobs.open_store((self.home / "blobs").as_uri()), sha256) as content:
                assert content.read() == name.encode() * 100
            words.add(name)
        stores = [path.read_text().split()[0] for path in sorted(self.store.rglob("vectors"))]
        assert len(stores) == 3, "the search store is not whole"
        return words | set(stores)

    def blobs(self) -> set[str]:
        return {path.name for path in (self.home / "blobs" / "sha256").rglob("*") if path.is_file()}

    def __call__(self, *words: str, kill: tuple[str, int] | None = None) -> Ran:
        env = {
            **plain(), "ASSAY_HOME": str(self.home), "DATABASE_URL": self.url,
            "BLOB_URL": (self.home / "blobs").as_uri(),
        }  # fmt: skip
        return command("services.host", *words, env=env, folder=self.home.parent, kill=kill)

    def resume(self) -> None:
        """Do what `assay up` does first."""
        search_store.finish(InstallationFolder(self.home), self.url)
        assert not search_store.is_unfinished(InstallationFolder(self.home))


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Installation:
    """One that holds ``old``."""
    home = tmp_path / "home"
    home.mkdir()
    InstallationFolder(home).make()
    made = Installation(home, database_url)
    made.fill("old")
    return made


@pytest.fixture
def backup(installation: Installation, tmp_path: Path) -> Path:
    """A backup of ``new``, next to an installation that holds ``old``."""
    file = tmp_path / "new.backup"
    installation.fill("new")
    assert installation("backup", str(file)).status == 0
    shutil.rmtree(installation.home / "blobs" / "sha256")
    installation.fill("old")
    return file


def refused(ran: Ran, installation: Installation, kept: set[str]) -> None:
    """Check that the step says that nothing was changed, and that this is so."""
    assert ran.status == 1, ran
    assert ran.talk.startswith("Nothing was restored: "), ran.talk
    assert "Traceback" not in ran.talk
    assert installation.words() == {"old"}
    assert installation.blobs() == kept
    assert not search_store.is_unfinished(InstallationFolder(installation.home))


def test_a_restore_replaces_tables_files_and_search_store(installation: Installation, backup: Path) -> None:
    assert "--replace" in installation("restore", str(backup)).talk
    assert installation.words() == {"old"}
    ran = installation("restore", "--replace", str(backup))
    assert ran.status == 0, ran.talk
    assert installation.words() == {"new"}
    assert current(installation.url)
    assert installation("restore", "--replace", str(backup)).status == 0
    assert installation.words() == {"new"}


def _bytes_read() -> int:
    """Return how many bytes this process has read from files."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_restore_reads_the_backup_a_few_times_however_many_files_it_holds(
    installation: Installation, tmp_path: Path
) -> None:
    store = blobs.open_store((installation.home / "blobs").as_uri())
    for number in range(30):
        (installation.store / f"segment{number}").write_bytes(os.urandom(200_000))
        kept = blobs.write(store, os.urandom(200_000))
        row = {"id": f"f{number}", "tenant_id": "t", "name": "f", "size": kept.size, "sha256": kept.sha256}
        with psycopg.connect(installation.url) as connection:
            connection.execute(
                "INSERT INTO files (id, tenant_id, name, size, sha256, media_type)"
                " VALUES (%(id)s, %(tenant_id)s, %(name)s, %(size)s, %(sha256)s, 'text/plain')",
                row,
            )
    segments = {path.name: path.read_bytes() for path in installation.store.glob("segment*")}
    file = tmp_path / "many.backup"
    assert installation("backup", str(file)).status == 0
    shutil.rmtree(installation.home / "blobs" / "sha256")
    before = _bytes_read()
    manifest = restore.manifest_of(file)
    restore.read(file, manifest, installation.url, store, InstallationFolder(installation.home), replace=True)
    read = _bytes_read() - before
    assert manifest.blobs == len(installation.blobs()) == 31
    assert {path.name: path.read_bytes() for path in installation.store.glob("segment*")} == segments
    assert read < 5 * file.stat().st_size


BEFORE_COMMIT = [
    ("search_store.prepare", 1), ("restore._inside", 2), ("restore._keep_blob", 1), ("restore._check", 1),
    ("restore._replace_tables", 1), ("upgrade.migrate", 1), ("restore._read_tables", 1), ("upgrade.migrate", 2),
    ("search_store.mark", 1), ("pathlib.rename", 1),
]  # fmt: skip
#: The first rename is that of the only file.
AFTER_COMMIT = [("search_store.finish", 2), ("pathlib.rename", 2), ("pathlib.rename", 3), ("shutil.rmtree", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("moment", BEFORE_COMMIT + AFTER_COMMIT, ids="{0[0]}-{0[1]}".format)
def test_a_restore_that_is_killed_has_happened_whole_or_not_at_all(
    installation: Installation, backup: Path, moment: tuple[str, int]
) -> None:
    ran = installation("restore", "--replace", str(backup), kill=moment)
    assert ran.status == -9, (ran, "the moment never came")
    installation.resume()
    assert installation.words() == ({"new"} if moment in AFTER_COMMIT else {"old"})


def repack(backup: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> None:
    """Write the backup again with other members."""
    written = io.BytesIO()
    with tarfile.open(backup, "r:gz") as source, tarfile.open(fileobj=written, mode="w:gz") as target:
        for member in source:
            content = source.extractfile(member)
            if content is None:
                target.addfile(member)
            elif (changed := change(member.name, content.read())) is not None:
                member.name, member.size = changed[0], len(changed[1])
                target.addfile(member, io.BytesIO(changed[1]))
    backup.write_bytes(written.getvalue())


def _other_byte(prefix: str) -> Callable[[Path], None]:
    def damage(backup: Path) -> None:
        repack(
            backup,
            lambda name, content: (name, content[:-2] + b"#" + content[-1:] if name.startswith(prefix) else content),
        )

    return damage


def _without(prefix: str) -> Callable[[Path], None]:
    return lambda backup: repack(backup, lambda name, content: None if name.startswith(prefix) else (name, content))


def _renamed(prefix: str, name: str) -> Callable[[Path], None]:
    return lambda backup: repack(backup, lambda was, content: (name if was.startswith(prefix) else was, content))


def _manifest(**changes: object) -> Callable[[Path], None]:
    def change(name: str, content: bytes) -> tuple[str, bytes]:
        return name, json.dumps({**json.loads(content), **changes}).encode() if name == MANIFEST else content

    return lambda backup: repack(backup, change)


def _raw(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(backup: Path) -> None:
        backup.write_bytes(change(backup.read_bytes()))

    return damage


def _flip(at: float) -> Callable[[bytes], bytes]:
    def flipped(content: bytes) -> bytes:
        position = int(len(content) * at)
        return content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]

    return flipped


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a file": _other_byte("blobs/"),
    "a table": _other_byte("postgres/jobs"),
    "the search store": _other_byte("search/c1/vectors"),
    "no file": _without("blobs/"),
    "no table": _without("postgres/files"),
    "no search store": _without("search/c2"),
    "no manifest": _without(MANIFEST),
    "outside": _renamed("search/c0/vectors", "search/../../outside"),
    "format": _manifest(format=99),
    "newer": _manifest(revision="9999"),
    "older": _manifest(revision="0001"),
    "no revision": _manifest(revision=""),
    "odd manifest": _manifest(tables="none"),
    "unknown column": _manifest(tables=[{"name": "jobs", "columns": ["nonsense"], "rows": 1}]),
    "unknown table": _manifest(tables=[{"name": "nonsense", "columns": ["id"], "rows": 1}]),
    "cut": _raw(lambda content: content[: len(content) // 2]),
    "end cut": _raw(lambda content: content[:-3]),
    "empty": _raw(lambda content: b""),
    "text": _raw(lambda content: b"city,amount\n"),
    "gzip of text": _raw(lambda content: gzip.compress(b"city,amount\n")),
    "early byte": _raw(_flip(0.2)),
    "middle byte": _raw(_flip(0.5)),
    "late byte": _raw(_flip(0.8)),
    "checksum": _raw(lambda content: content[:-8] + bytes([content[-8] ^ 1]) + content[-7:]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_restore_of_a_damaged_backup_changes_nothing(
    installation: Installation, backup: Path, tmp_path: Path, damage: str
) -> None:
    DAMAGES[damage](backup)
    kept = installation.blobs()
    refused(installation("restore", "--replace", str(backup)), installation, kept)
    assert not (tmp_path / "outside").exists()


@contextmanager
def at(tag: str, url: str, body: str) -> Iterator[None]:
    """Let Postgres do this at the end of such a statement."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA faults")
        connection.execute(
            f"CREATE FUNCTION faults.strike() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$".encode()
        )
        connection.execute(
            f"CREATE EVENT TRIGGER strike ON ddl_command_end WHEN TAG IN ('{tag}')"
            " EXECUTE FUNCTION faults.strike()".encode()
        )
        try:
            yield
        finally:
            connection.execute("DROP EVENT TRIGGER strike")
            connection.execute("DROP SCHEMA faults CASCADE")


FULL = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';"
LOST = "PERFORM pg_terminate_backend(pg_backend_pid());"


@pytest.mark.parametrize("fault", [FULL, LOST], ids=["full", "lost"])
def test_a_restore_changes_nothing_when_postgres_has_no_space_or_goes_away(
    installation: Installation, backup: Path, fault: str
) -> None:
    kept = installation.blobs()
    with at("COMMENT", installation.url, fault):  # the last statement
        ran = installation("restore", "--replace", str(backup))
    refused(ran, installation, kept)


def test_a_restore_without_its_server_changes_nothing(installation: Installation, backup: Path) -> None:
    gone = Installation(installation.home, "postgresql://postgres@127.0.0.1:1/none")
    kept = installation.blobs()
    refused(gone("restore", "--replace", str(backup)), installation, kept)


@pytest.fixture
def small_home(tmp_path: Path, database_url: str) -> Iterator[Installation]:
    """An installation whose folder is on a disk of 1 MB."""
    home = tmp_path / "small"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "none", str(home)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        InstallationFolder(home).make()
        yield Installation(home, database_url)
    finally:
        subprocess.run(["umount", "--lazy", str(home)], check=True)


@pytest.mark.parametrize("large", ["search/c1/vectors", "blobs/"])
def test_a_restore_that_fills_the_disk_changes_nothing_and_gives_the_space_back(
    small_home: Installation, backup: Path, large: str
) -> None:
    content = os.urandom(3_000_000)
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"blobs/{sha256}" if large == "blobs/" else large
    hashes = {
        f"search/c{number}/vectors": hashlib.sha256(f"new {number}\n".encode() * 50).hexdigest() for number in range(3)
    }
    _renamed(large, name)(backup)
    repack(backup, lambda each, before: (each, content if each == name else before))
    _manifest(search_files={**hashes, **({large: sha256} if large in hashes else {})})(backup)
    small_home.fill("old")
    free, kept = shutil.disk_usage(small_home.home).free, small_home.blobs()
    ran = small_home("restore", "--replace", str(backup))
    refused(ran, small_home, kept)
    assert "space" in ran.talk
    assert shutil.disk_usage(small_home.home).free >= free - 64_000


@pytest.mark.parametrize("moment", [("backup._add_table", 3), ("backup._add_blob", 1), ("backup._add", 1)], ids=str)
def test_a_backup_that_is_killed_leaves_the_one_before_and_no_draft_for_long(
    installation: Installation, tmp_path: Path, moment: tuple[str, int]
) -> None:
    file = tmp_path / "kept.backup"
    assert installation("backup", str(file)).status == 0
    before = file.read_bytes()
    assert installation("backup", str(file), kill=moment).status == -9
    assert file.read_bytes() == before
    assert installation.words() == {"old"}
    assert installation("backup", str(file)).status == 0
    assert [path.name for path in tmp_path.glob(".*.tmp")] == []


def test_a_backup_without_space_or_server_leaves_the_one_before(small_home: Installation, tmp_path: Path) -> None:
    small_home.fill("old")
    file = small_home.home / "kept.backup"
    assert small_home("backup", str(file)).status == 0
    before = file.read_bytes()
    filler = small_home.home / "filler"
    with filler.open("wb") as full:
        full.write(bytes(shutil.disk_usage(small_home.home).free - 4096))
    gone = Installation(small_home.home, "postgresql://postgres@127.0.0.1:1/none")
    for ran in (small_home("backup", str(file)), gone("backup", str(file))):
        assert ran.status == 1
        assert ran.talk.startswith("Nothing was backed up: ")
        assert file.read_bytes() == before
        assert [*small_home.home.glob(".*.tmp")] == []


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_backup_replaces_files_only(
    installation: Installation, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """As root it would replace a device of the machine."""
    target = tmp_path / "target"
    make(target)
    before = target.stat()
    for word in ("backup", "restore"):
        ran = installation(word, str(target))
        assert (ran.status, "is not a file" in ran.talk) == (2, True)
    after = target.stat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("word", ["backup", "restore"])
def test_a_wrong_address_of_postgres_is_refused_without_its_password(
    installation: Installation, backup: Path, word: str
) -> None:
    wrong = Installation(installation.home, "mysql://u:secret@h/d")
    ran = wrong(word, str(backup))
    assert (ran.status, ran.talk.startswith("DATABASE_URL: begin it with")) == (2, True)
    assert "secret" not in ran.talk


def test_nothing_is_started_on_a_disk_that_is_too_small(small_home: Installation, tmp_path: Path) -> None:
    env = {**plain(), "ASSAY_HOME": str(small_home.home / "new"), "ASSAY_PORT": "0"}
    ran = command("services.host", "up", "-d", env=env, folder=tmp_path)
    assert ran.status == 1
    assert "has 1 MB free, and a new installation needs 150 MB" in ran.talk
    assert not (small_home.home / "new").exists()


@pytest.mark.parametrize("word", ["up", "down", "status"])
def test_a_home_that_is_a_file_is_named(tmp_path: Path, word: str) -> None:
    home = tmp_path / "home"
    home.touch()
    ran = command("services.host", word, env={**plain(), "ASSAY_HOME": str(home), "ASSAY_PORT": "0"}, folder=tmp_path)
    assert (ran.status, ran.talk.startswith(f"ASSAY_HOME cannot be used: {home}")) == (1, True)
    assert "Traceback" not in ran.talk


def test_a_backup_of_an_installation_that_lost_a_file_says_so(installation: Installation, tmp_path: Path) -> None:
    shutil.rmtree(installation.home / "blobs" / "sha256")
    ran = installation("backup", str(tmp_path / "less.backup"))
    assert (ran.status, "not in it: 1 file" in ran.talk) == (0, True)


@pytest.fixture
def baseline(postgres_server: Postgres) -> Iterator[str]:
    """A database at the first revision, with a job."""
    name = f"baseline_{uuid.uuid4().hex}"
    url = postgres_server.url_of(name)
    with psycopg.connect(postgres_server.url_of("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        with migrating(url) as migration:
            migrate(migration, "0060")
            migration.execute(submission.submit(job_row(input={"code": "kept"})))
        yield url
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _migration(url: str, folder: Path, kill: tuple[str, int] | None = None) -> Ran:
    return command("migrations", env={**plain(), "DATABASE_URL": url}, folder=folder, kill=kill)


def _is_baseline(url: str) -> bool:
    with psycopg.connect(url) as connection:
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        column = connection.execute(
            "SELECT 1 FROM pg_attribute WHERE attname = 'rung_at' AND NOT attisdropped"
        ).fetchone()
        words = connection.execute("SELECT input->>'code' FROM jobs").fetchall()
    return (revision, column, words) == (("0060",), (1,), [("kept",)])


@pytest.mark.parametrize("fault", [FULL, LOST], ids=["full", "lost"])
def test_a_migration_without_space_or_server_leaves_the_tables_as_they_were(
    baseline: str, tmp_path: Path, fault: str
) -> None:
    with at("CREATE FUNCTION", baseline, fault):
        assert _migration(baseline, tmp_path).status != 0
    assert _is_baseline(baseline)
    assert _migration(baseline, tmp_path).status == 0
    assert current(baseline)


@pytest.mark.parametrize("moment", ["0061_contract_py.upgrade", "0062_claims_without_flush_py.upgrade", "roles.apply"])
def test_a_migration_that_is_killed_leaves_the_tables_as_they_were(baseline: str, tmp_path: Path, moment: str) -> None:
    assert _migration(baseline, tmp_path, kill=(moment, 1)).status == -9
    assert _is_baseline(baseline)
    assert _migration(baseline, tmp_path).status == 0
    assert current(baseline)


def test_a_migration_of_tables_that_are_not_understood_changes_nothing(baseline: str, tmp_path: Path) -> None:
    with psycopg.connect(baseline) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    ran = _migration(baseline, tmp_path)
    assert (ran.status != 0, "install that one" in ran.talk) == (True, True)
    with psycopg.connect(baseline) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0060'")
    assert _is_baseline(baseline)
