"""The base images, made by debootstrap in place of the images that a registry would provide.

They go by the names in the Dockerfiles and docker-compose.yml, so those run as they are. Debian's newer suites have
the same Python, Postgres and Redis by major version.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.containers.podman import Failed, Podman

_HERE = Path(__file__).parent
_SCRIPTS = Path("/usr/share/debootstrap/scripts")
#: As in Debian's own slim images.
_SLIM = """\
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
path-exclude /usr/share/info/*
path-exclude /usr/share/groff/*
path-exclude /usr/share/lintian/*
"""
_SLIMMED = (
    "usr/share/doc",
    "usr/share/locale",
    "usr/share/man",
    "usr/share/info",
    "var/lib/apt/lists",
    "var/cache/apt/archives",
)


@dataclass(frozen=True)
class Base:
    name: str  #: as the Dockerfiles and docker-compose.yml name it
    suite: str
    packages: Sequence[str]
    changes: Sequence[str] = ()  #: instructions of a Dockerfile
    entrypoint: str = ""  #: a script of this folder, as /entrypoint
    users: Sequence[tuple[str, int]] = ()  #: users and groups with the numbers that the real image has
    folders: Sequence[tuple[str, str]] = ()  #: folders and who owns them


BASES: Sequence[Base] = (
    Base(
        "docker.io/library/python:3.13-slim-bookworm",
        "trixie",
        ("python3", "python3-venv", "python3-pip", "python-is-python3", "ca-certificates"),
        ("ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", 'CMD ["python3"]'),
    ),
    Base(
        "docker.io/library/postgres:18-bookworm",
        "forky",
        ("postgresql-18",),
        (
            "ENV PGDATA=/var/lib/postgresql/18/docker",
            "ENV PATH=/usr/lib/postgresql/18/bin:/usr/local/bin:/usr/bin:/bin",
            'ENTRYPOINT ["/entrypoint"]',
            "STOPSIGNAL SIGINT",
        ),
        "postgres-entrypoint",
        (("postgres", 999),),
        (("var/lib/postgresql", "postgres"), ("var/run/postgresql", "postgres")),
    ),
    Base(
        "docker.io/library/redis:8-bookworm",
        "trixie",
        ("redis-server",),
        ("WORKDIR /data",),
        users=(("redis", 999),),
        folders=(("data", "redis"),),
    ),
)


def make(podman: Podman, base: Base) -> None:
    """Import the base image, unless it is there. Raises: Failed."""
    if podman.image_bytes(base.name) is not None:
        return
    root = podman.folder / "bases" / base.name.rpartition("/")[2].partition(":")[0]
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(exist_ok=True)
    script = _SCRIPTS / base.suite
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(base.packages)}",
        base.suite,
        str(root),
        _mirror(),
    ]
    if not script.exists():  # a suite that is newer than the tool
        command.append(str(_SCRIPTS / "sid"))
    _run(command)
    _finish(base, root)
    changes = [word for change in base.changes for word in ("--change", change)]
    archive = root.with_suffix(".tar")
    _run(["tar", "--one-file-system", "--create", "--file", str(archive), "--directory", str(root), "."])
    podman.run("import", "--quiet", *changes, archive, base.name)
    archive.unlink()
    shutil.rmtree(root)


def _mirror() -> str:
    """Return where this machine has its own packages from. Raises: Failed."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    )
    for address in listed.stdout.split():
        if "security" not in address:
            return address
    raise Failed("apt knows no mirror of Debian's packages: see /etc/apt/sources.list")


def _finish(base: Base, root: Path) -> None:
    for name in _SLIMMED:
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir()
    (root / "var/cache/apt/archives/partial").mkdir()
    (root / "etc/dpkg/dpkg.cfg.d").mkdir(exist_ok=True)
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(_SLIM)
    for name in ("etc/hostname", "etc/resolv.conf"):  # those of this machine
        (root / name).unlink(missing_ok=True)
    if base.entrypoint:
        shutil.copy(_HERE / base.entrypoint, root / "entrypoint")
        (root / "entrypoint").chmod(0o755)
    for user, number in base.users:
        _run(["chroot", str(root), "groupmod", "--non-unique", "--gid", str(number), user])
        _run(["chroot", str(root), "usermod", "--non-unique", "--uid", str(number), user])
    for folder, owner in base.folders:
        shutil.rmtree(root / folder, ignore_errors=True)
        _run(["chroot", str(root), "install", "-d", "-o", owner, "-g", owner, f"/{folder}"])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command[:3])} ...: {(done.stderr or done.stdout)[-2000:]}")
