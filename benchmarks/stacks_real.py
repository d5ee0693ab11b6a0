"""Whole source packages from PyPI and npm, fetched on demand: what is told right of each axis, abstentions apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from services.stacks.engine import Engine, Options
from services.stacks.interest import ArchiveInterest
from services.stacks.sources.archive import open_archive
from services.stacks.sources.keep import Limits

#: (language, build system) of the root package, from each project's own manifest.
SDISTS = {
    "flask": ("python", "pip"), "requests": ("python", "pip"), "httpx": ("python", "pip"), "rich": ("python", "poetry"),
    "attrs": ("python", "pip"), "click": ("python", "pip"), "pluggy": ("python", "pip"), "tomli": ("python", "pip"),
    "starlette": ("python", "pip"), "uvicorn": ("python", "pip"), "jinja2": ("python", "pip"), "packaging": ("python", "pip"),
    "poetry-core": ("python", "poetry"), "pytest": ("python", "pip"), "django": ("python", "pip"), "pyyaml": ("python", "pip"),
    "orjson": ("rust", "cargo"), "anyio": ("python", "pip"),
}  # fmt: skip
TARBALLS = {
    "express": ("javascript", "npm"), "koa": ("javascript", "npm"), "fastify": ("javascript", "npm"), "lodash": ("javascript", "npm"),
    "react": ("javascript", "npm"), "vue": ("javascript", "npm"), "svelte": ("javascript", "npm"), "hono": ("javascript", "npm"),
    "commander": ("javascript", "npm"), "chalk": ("javascript", "npm"), "debug": ("javascript", "npm"), "axios": ("javascript", "npm"),
    "vite": ("javascript", "npm"), "eslint": ("javascript", "npm"), "prettier": ("javascript", "npm"), "yargs": ("javascript", "npm"),
}  # fmt: skip


def real_packages(engine: Engine, base: Path) -> None:
    wanted = {**SDISTS, **TARBALLS}
    right, wrong, silent = [0, 0], [], [0, 0]
    for name, expected in wanted.items():
        path = _fetch(name, base, name in SDISTS)
        if path is None:
            print(f"  {name}: could not be fetched")
            continue
        with path.open("rb") as stream:
            result, _ = engine.detect(open_archive(stream, ArchiveInterest(engine.tables), Limits()), Options())
        root = next((it.primary for it in result.services if not it.path), None)
        told = (root.language, root.build_system) if root else (None, None)
        for axis in (0, 1):
            if told[axis] is None:
                silent[axis] += 1
            elif told[axis] == expected[axis]:
                right[axis] += 1
            else:
                wrong.append(f"{name}: {told[axis]} instead of {expected[axis]}")
    print(
        f"{len(wanted)} real packages: language {right[0]} right, {silent[0]} silent; build system {right[1]} right, {silent[1]} silent"
    )
    print("\n".join(f"  wrong: {one}" for one in wrong))


def _fetch(name: str, base: Path, python: bool) -> Path | None:
    folder = base / "real" / name
    folder.mkdir(parents=True)
    command = ["npm", "pack", "--silent", name]
    if python:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            name,
        ]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    return next((path for path in folder.iterdir() if path.suffix in {".gz", ".tgz", ".zip"}), None)
