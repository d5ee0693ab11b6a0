"""Whole source packages from PyPI and npm, fetched on demand: what is told right of each axis, abstentions apart.

Expectations are our own, written down from each project's manifest as it is published; nothing of the packages is kept.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from services.stacks.engine import DetectOptions, StackEngine
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from shared.contracts.detect import Primary

AXES = ("language", "build_system", "framework", "runtime", "role")


@dataclass(frozen=True)
class Expected:
    """What the package at the root of an archive is; a published library has no framework of its own."""

    language: str
    build_system: str
    framework: str | None = None
    runtime: str = "node"
    role: str = "library"


def python(build_system: str = "pip", **other: str) -> Expected:
    return Expected("python", build_system, runtime="python", **other)


def node(language: str = "javascript", build_system: str = "npm", **other: str | None) -> Expected:
    return Expected(language, build_system, **other)  # type: ignore[arg-type]


#: A package that installs a command is an app; ``uv`` where its lockfile or its table is published with it.
SDISTS = {
    "flask": python("uv", role="app"), "requests": python(), "httpx": python(role="app"), "rich": python("poetry"),
    "attrs": python("uv"), "click": python("uv"), "pluggy": python("uv"), "tomli": python(), "starlette": python("uv"),
    "uvicorn": python("uv", role="app"), "jinja2": python(), "packaging": python(), "poetry-core": python("poetry"),
    "pytest": python("uv", role="app"), "django": python(role="app"), "werkzeug": python("uv"),
    "anyio": python(), "itsdangerous": python(), "httpcore": python(), "idna": python(role="app"),
}  # fmt: skip
TARBALLS = {
    "express": node(), "koa": node(), "fastify": node(), "lodash": node(), "react": node(), "vue": node(),
    "svelte": node(), "hono": node(build_system="pnpm"), "commander": node(), "chalk": node(), "debug": node(),
    "axios": node(), "eslint": node(role="app"), "prettier": node(role="app"), "vite": node(role="app"),
    "yargs": node(), "@nestjs/core": node(), "zod": node("typescript"), "nodemon": node(role="app"),
    "http-server": node(role="app"),
}  # fmt: skip


def real_packages(engine: StackEngine, base: Path) -> None:
    wanted = {**SDISTS, **TARBALLS}
    with ThreadPoolExecutor(4) as pool:
        paths = dict(zip(wanted, pool.map(lambda name: _fetch(name, base), wanted), strict=True))
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        print(f"could not be fetched: {', '.join(missing)}")
    told = {name: _detected(engine, path) for name, path in paths.items() if path is not None}
    print(f"{len(told)} whole packages of the registries ({sum(name in SDISTS for name in told)} from PyPI)")
    for axis in AXES:
        right, silent, wrong = _counted(axis, ((name, wanted[name], said) for name, said in told.items()))
        print(f"  {axis:13} {right:3} right  {silent:3} silent  {len(wrong):3} wrong   {'; '.join(wrong)}")


def _counted(axis: str, answers: Iterable[tuple[str, Expected, dict[str, str | None]]]) -> tuple[int, int, list[str]]:
    right = silent = 0
    wrong = []
    for name, expected, said in answers:
        wanted, got = getattr(expected, axis), said[axis]
        right += got == wanted
        silent += got is None and wanted is not None
        if got is not None and got != wanted:
            wrong.append(f"{name}: {got}, not {wanted}")
    return right, silent, wrong


def _detected(engine: StackEngine, path: Path) -> dict[str, str | None]:
    with path.open("rb") as stream:
        result, _ = engine.detect(open_archive(stream, ArchiveSelector(engine.tables), SourceLimits()), DetectOptions())
    root = next((service for service in result.services if not service.path), None)
    primary = root.primary if root else Primary()
    return {**{axis: getattr(primary, axis) for axis in AXES[:-1]}, "role": root.role if root else None}


def _fetch(name: str, base: Path) -> Path | None:
    folder = base / "real" / name.replace("/", "-")
    folder.mkdir(parents=True)
    command = ["npm", "pack", "--silent", name]
    if name in SDISTS:
        options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, name]
    try:
        subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=150)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((path for path in folder.iterdir() if path.suffix in {".gz", ".tgz", ".zip"}), None)
