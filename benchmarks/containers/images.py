"""The project's own images, built from the Dockerfiles as they are."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.containers.podman import Podman
from shared import VERSION

ROOT = Path(__file__).resolve().parents[2]
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
_SECONDS = 3600.0
_OF_NPM = ("registry", "proxy", "https-proxy", "noproxy", "//", "@")
_OF_PIP = ("index-url", "proxy", "trusted-host")


@dataclass(frozen=True)
class Built:
    name: str
    seconds: float | None  #: None: it was there
    bytes: int
    bytes_of_base: int


def dockerfiles() -> Mapping[str, Path]:
    """Return the tag of each image of the project, and what builds it."""
    images = {}
    for file in sorted((ROOT / "deploy").glob("*/Dockerfile")):
        name = "assay" if file.parent.name == "assay" else f"assay-{file.parent.name}"
        images[f"localhost/{name}:{VERSION}"] = file
    return images


def build(podman: Podman, name: str, dockerfile: Path, *, cached: bool) -> Built:
    """Raises: Failed with the end of what the build printed."""
    began = time.monotonic()
    options = ["--layers"] if cached else ["--no-cache"]
    text = without_digests(dockerfile.read_text())
    file = podman.folder / "settings" / f"{dockerfile.parent.name}.Dockerfile"
    file.write_text(text)
    # `--isolation=chroot --network=host`: a step of the build sees the network as this machine does.
    podman.run(
        *(
            "build",
            "--isolation=chroot",
            "--network=host",
            "--pull=never",
            *options,
            *_mounts(podman.folder / "settings"),
        ),
        *("--file", file, "--tag", name, ROOT),
        seconds=_SECONDS,
    )
    base = text.rpartition("FROM ")[2].split()[0]
    sizes = [podman.image_bytes(each) or 0 for each in (name, f"docker.io/library/{base}")]
    return Built(name, time.monotonic() - began, sizes[0], sizes[1])


def without_digests(text: str) -> str:
    """Return the file with tags alone: the base images that are made here have no digests of a registry."""
    return re.sub(r"@sha256:[0-9a-f]{64}", "", text)


def _mounts(folder: Path) -> Iterator[str]:
    """Yield what this machine needs to reach its package registries, seen by the build and in no layer of the image."""
    bundle = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or _BUNDLE
    if Path(bundle).is_file():
        yield f"--volume={Path(bundle).resolve()}:{_BUNDLE}:ro"
    for name, target, text in (("pip.conf", "/etc/pip.conf", _pip()), ("npmrc", "/root/.npmrc", _npm())):
        file = folder / name
        file.touch(mode=0o600)
        file.write_text(text)
        yield f"--volume={file}:{target}:ro"


def _pip() -> str:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, timeout=60, check=False
    ).stdout
    pairs = [line.partition("=")[::2] for line in listed.splitlines()]
    chosen = [(key.rpartition(".")[2], value.strip("'")) for key, value in pairs]
    lines = [f"{key} = {value}" for key, value in chosen if key in _OF_PIP]
    return "\n".join(["[global]", f"cert = {_BUNDLE}", *lines, ""])


def _npm() -> str:
    given = Path.home() / ".npmrc"
    lines = given.read_text().splitlines() if given.is_file() else []
    return "\n".join([*(line for line in lines if line.startswith(_OF_NPM)), f"cafile={_BUNDLE}", ""])
