"""``python -m benchmarks.containers`` (``make containers``): build the images and run the deployments that are shipped.

``--part images|compose|kubernetes`` does one; ``--cached`` builds only what has changed. The folder, in
``ASSAY_CONTAINERS`` or below /var/tmp, keeps images for the next run: ``--delete`` deletes it. Status 1: something
did not work.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from assay import Client
from benchmarks.containers import compose, jobs, kubernetes
from benchmarks.containers.bases import BASES, make
from benchmarks.containers.images import Built, build, dockerfiles
from benchmarks.containers.podman import Failed, Podman
from services.host.processes import PROCESSES

_PARTS = ("images", "compose", "kubernetes")
_JOBS_UNDER_WAY = 8
_GRACE = {process.name: process.grace_seconds for process in PROCESSES}


def main() -> int:
    options = _parser().parse_args()
    folder = Path(os.environ.get("ASSAY_CONTAINERS", "/var/tmp/assay-containers"))
    podman = Podman.prepared(folder)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another run uses {folder}; ASSAY_CONTAINERS names another folder")
        podman.delete_all()  # of a run that was killed
        if options.delete:
            return _delete(podman)
        try:
            for part in options.part or _PARTS:
                _RUN[part](podman, options.cached)
        except Failed as fault:
            _say(f"FAILED: {fault}")
            return 1
        finally:
            podman.delete_all()
    return 0


def _images(podman: Podman, cached: bool) -> None:
    for base in BASES:
        began = time.monotonic()
        make(podman, base)
        _say(f"{base.name}: {time.monotonic() - began:.0f} s")
    rows = [build(podman, name, file, cached=cached) for name, file in dockerfiles().items()]
    _show("Images", ("image", "MB", "of these the base", "seconds to build"), [_row(each) for each in rows])


def _row(built: Built) -> Sequence[str]:
    return built.name, f"{built.bytes / 1e6:.0f}", f"{built.bytes_of_base / 1e6:.0f}", f"{built.seconds:.0f}"


def _require_images(podman: Podman) -> None:
    """Raise Failed for missing images that are only built here, which no registry has."""
    needed = [*(base.name for base in BASES), *dockerfiles()]
    if missing := [name for name in needed if podman.image_bytes(name) is None]:
        raise Failed(
            f"these images are not in {podman.folder}: {', '.join(missing)}. Build them first, which takes some "
            'minutes: make containers ARGS="--part images"'
        )


def _compose(podman: Podman, _: bool) -> None:
    _require_images(podman)
    with compose.composed(podman) as this:
        _say(
            "docker-compose.yml is up: "
            + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in this.started.items())
        )
        with compose.client_of(this) as client:
            _checked(client, sandbox=True)
            _say(f"helm test's job: {compose.first_job(this)}")
            _say(f"execution to the internet: {compose.cut_off(this)}")
            with compose.repository_server(this) as url:
                _say(f"detect, a repository: {jobs.check(client, jobs.repository(url)):.1f} s")
            for name, result in compose.confined(this).items():
                _say(f"{name}: {result}")
            for service in ("execution", "gateway"):
                _say(compose.killed_on_the_way(this, client, service, _JOBS_UNDER_WAY))
            _say(compose.drained(this, client, _GRACE["execution"]))
            rows = [compose.restarted(this, name, grace) for name, grace in _GRACE.items()]
    _show(
        "Stopped and started again",
        ("service", "seconds to stop", "status", "seconds until healthy"),
        [(row.service, f"{row.stop_seconds:.1f}", str(row.status), f"{row.start_seconds:.1f}") for row in rows],
    )
    _differ(compose.DIFFERENCES)


def _kubernetes(podman: Podman, _: bool) -> None:
    _require_images(podman)
    with kubernetes.played(podman) as this:
        _say("the pods are ready: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in this.started.items()))
        with kubernetes.client_of(this) as client:
            _checked(client, sandbox=False)
    _differ(kubernetes.DIFFERENCES)
    _say(f"left out: {', '.join(kubernetes.left_out())}")


def _checked(client: Client, *, sandbox: bool) -> None:
    """Every case, without a sandbox in the containers those that need none. Raises: Failed."""
    isolation = client.capabilities().isolation
    _say(f"isolation of the sandbox: {isolation.tier}; version {client.capabilities().version}")
    if sandbox and isolation.tier == "none":
        raise Failed("no sandbox can be made in the execution worker's container")
    for case in (case for case in jobs.CASES if isolation.tier != "none" or not case.needs_sandbox):
        _say(f"{case.name}: as it should be, after {jobs.check(client, case):.1f} s")


_RUN: dict[str, Callable[[Podman, bool], None]] = {"images": _images, "compose": _compose, "kubernetes": _kubernetes}


def _delete(podman: Podman) -> int:
    podman.tried("rmi", "--all", "--force")
    for line in Path("/proc/mounts").read_text().splitlines():
        if (place := line.split()[1]).startswith(f"{podman.folder}/"):
            subprocess.run(["umount", place], check=False)
    shutil.rmtree(podman.folder)
    return 0


def _differ(differences: Sequence[str]) -> None:
    for difference in differences:
        _say(f"here: {difference}")


def _show(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=_PARTS, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--cached", action="store_true", help="build only what has changed: build times mean nothing then"
    )
    parser.add_argument("--delete", action="store_true", help="delete the images and everything else that is kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
