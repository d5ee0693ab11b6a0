"""What a job costs the record, and an idle installation the memory: ``python -m benchmarks.capacity [JOBS]``.

Bytes are those of tables with indexes and of the write-ahead log, for jobs without input or result worth mentioning,
with three events; processor time is Postgres's and the worker's. Memory is PSS: a page that n processes share counts as
1/n in each.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, text

from benchmarks.installation import installation
from benchmarks.sandbox_memory import descendants, pss_mb
from services.host.folder import InstallationFolder
from tests.support.wait import until

_TABLES = text(
    "SELECT relname, pg_relation_size(oid), pg_indexes_size(oid) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'effects'"
)
_WAL = text("SELECT pg_current_wal_insert_lsn() - '0/0'")


def of_jobs(count: int) -> None:
    """Prints the table of bytes and processor time for each job."""
    with installation() as place, place.platform() as platform:
        worker = platform.ready_worker()
        postgres = int((place.folder / "pg" / "data" / "postmaster.pid").read_text().splitlines()[0])
        with platform.engine.connect() as connection:
            before, wal, used = _sizes(connection), int(connection.scalar(_WAL)), _cpu(postgres, worker.pid)
        for _ in range(count // 100):
            platform.wait_all(platform.submit_all(["effect"] * 100), 120)
        with platform.engine.connect() as connection:
            after, written = _sizes(connection), int(connection.scalar(_WAL)) - wal
        spent = [(late - early) / count * 1000 for early, late in zip(used, _cpu(postgres, worker.pid), strict=True)]
    print("| for each job | bytes | of them indexes |\n|---|---|---|")
    for name in sorted(after, key=lambda name: sum(before[name]) - sum(after[name])):
        rows, indexes = ((new - old) / count for new, old in zip(after[name], before[name], strict=True))
        if rows + indexes >= 5:
            print(f"| `{name}` | {rows + indexes:.0f} | {indexes:.0f} |")
    print(f"| write-ahead log | {written / count:.0f} | |")
    print(f"\nprocessor time for each job: Postgres {spent[0]:.2f} ms, worker {spent[1]:.2f} ms\n")


def _sizes(connection: Connection) -> dict[str, tuple[int, int]]:
    return {name: (rows, indexes) for name, rows, indexes in connection.execute(_TABLES)}


def _cpu(*roots: int) -> list[float]:
    """Seconds of these processes and of those below them."""
    ticks = os.sysconf("SC_CLK_TCK")
    return [sum(map(_ticks, [root, *descendants(root)])) / ticks for root in roots]


def _ticks(pid: int) -> int:
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(part) for part in parts[11:15])  # with those of children that have ended


def of_an_idle_installation() -> None:
    """Prints the memory of what ``assay up`` starts."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/tmp") as name:
        home = Path(name)
        home.chmod(0o755)
        env = {key: value for key, value in os.environ.items() if not key.startswith(("ASSAY_", "DATABASE_URL"))}
        env |= {"ASSAY_HOME": name, "ASSAY_PORT": "0"}
        command = [sys.executable, "-P", "-m", "assay"]
        subprocess.run([*command, "up", "-d"], env=env, check=True, capture_output=True)
        try:
            supervisor = InstallationFolder(home).holder()
            assert supervisor is not None
            until(lambda: len(descendants(supervisor)) > 20, "its processes", 30)
            taken = memory_of(supervisor)
        finally:
            subprocess.run([*command, "down"], env=env, check=True, capture_output=True)
    print("| idle, after `assay up` | PSS, MB |\n|---|---|")
    for process, size in taken.items():
        print(f"| {process} | {size:.0f} |")
    print(f"| all | {sum(taken.values()):.0f} |")


def memory_of(supervisor: int) -> dict[str, float]:
    """Megabytes of PSS by the name of the process, the most first."""
    taken: defaultdict[str, float] = defaultdict(float)
    for pid in [supervisor, *descendants(supervisor)]:
        with suppress(OSError):
            taken[_name(pid)] += pss_mb(pid)
    return dict(sorted(taken.items(), key=lambda each: -each[1]))


def _name(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "ended"
    if "zygote" in command:
        return "Python in sandboxes"
    if service := re.search(r" -m services\.([\w.]+)", command):
        return service[1]
    return next((word for word in ("postgres", "redis", "bin/exec/R", "node") if word in command), "other")


def main() -> None:
    of_jobs(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
    of_an_idle_installation()


if __name__ == "__main__":
    main()
