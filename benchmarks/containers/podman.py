"""Podman with storage, networks and settings of its own in one folder: nothing else on the machine is touched.

Debian 12's podman as root, without systemd: runc and cgroupfs (its crun refuses mixed control groups), limits that the
kernel grants, and no timers for health checks, which the caller that waits runs instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_TOOLS = ("podman", "runc", "conmon", "debootstrap", "openssl", "git")
_CONTAINERS = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
[engine.runtimes]
runc = ["{runc}"]
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
"""
_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
[storage.options]
auto-userns-min-size = 65536
"""
_REGISTRIES = 'unqualified-search-registries = ["docker.io"]\n'


class Failed(Exception):
    """What did not work, in words."""


@dataclass(frozen=True)
class Podman:
    folder: Path

    @classmethod
    def prepared(cls, folder: Path) -> Podman:
        """Raises: SystemExit in words, when this machine cannot run it."""
        if os.geteuid() != 0:
            sys.exit("this needs root: debootstrap makes devices, and containers get networks")
        missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
        if missing:
            sys.exit(f"{', '.join(missing)}: not there; scripts/install-optional --containers installs them on Debian")
        settings = folder / "settings"
        settings.mkdir(parents=True, exist_ok=True)
        for name, text in (("containers", _CONTAINERS), ("storage", _STORAGE), ("registries", _REGISTRIES)):
            (settings / f"{name}.conf").write_text(text.format(folder=folder, runc=shutil.which("runc")))
        return cls(folder)

    @cached_property
    def environment(self) -> Mapping[str, str]:
        settings = self.folder / "settings"
        return {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("ASSAY_", "DOCKER_", "COMPOSE_"))
            },
            "CONTAINERS_CONF": str(settings / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(settings / "storage.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(settings / "registries.conf"),
            "DISABLE_HC_SYSTEMD": "true",
        }

    def run(self, *words: str | Path, input: str | None = None, seconds: float = 600) -> str:
        """Return what it prints. Raises: Failed with the end of what it complains of."""
        done = self.tried(*words, input=input, seconds=seconds)
        if done.returncode:
            raise Failed(f"podman {' '.join(map(str, words[:4]))} ...: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout.strip()

    def tried(
        self, *words: str | Path, input: str | None = None, seconds: float = 600
    ) -> subprocess.CompletedProcess[str]:
        return self.command(["podman", *words], input=input, seconds=seconds)

    def command(
        self, words: Sequence[str | Path], *, input: str | None = None, seconds: float = 600, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=self.environment,
            input=input,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def inspected(self, name: str) -> dict[str, Any]:
        (about,) = json.loads(self.run("inspect", name))
        return dict(about)

    def image_bytes(self, name: str) -> int | None:
        """Return the size of an image with the layers below; None when there is none."""
        done = self.tried("image", "inspect", "--format", "{{.Size}}", name)
        return None if done.returncode else int(done.stdout)

    def healthy(self, name: str) -> bool:
        """Return whether the container's own health check passes now."""
        return self.tried("healthcheck", "run", name, seconds=60).returncode == 0

    def delete_all(self) -> None:
        """Containers, pods, networks, volumes and secrets; images stay, so that the next run is shorter."""
        for words in (
            ("pod", "rm", "--force", "--all", "--time", "0"),
            ("rm", "--force", "--all", "--volumes", "--time", "0"),
            ("network", "prune", "--force"),
            ("volume", "prune", "--force"),
        ):
            self.tried(*words)
        for secret in self.tried("secret", "ls", "--format", "{{.Name}}").stdout.split():
            self.tried("secret", "rm", secret)
