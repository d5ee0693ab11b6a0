"""``python -m scripts.images [--registry REGISTRY]`` (``make images``): build the images, and push them to a registry.

Docker or podman does it, whichever is there (``--engine``); ``--dry-run`` prints the commands. At the end the value for
the Helm chart is printed.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ENGINES = ("docker", "podman")
_VERSION = re.compile(r'^VERSION = "([^"]+)"', re.MULTILINE)


def images() -> dict[str, Path]:
    """Return each image's name and its Dockerfile."""
    files = sorted((ROOT / "deploy").glob("*/Dockerfile"))
    return {"assay" if file.parent.name == "assay" else f"assay-{file.parent.name}": file for file in files}


def version() -> str:
    match = _VERSION.search((ROOT / "shared" / "__init__.py").read_text("utf-8"))
    assert match is not None
    return match[1]


def commands(engine: str, registry: str | None) -> list[list[str]]:
    """Return the commands that build every image, and push it where a registry is named."""
    steps: list[list[str]] = []
    for name, file in images().items():
        reference = f"{registry.rstrip('/')}/{name}:{version()}" if registry else f"{name}:{version()}"
        steps.append([engine, "build", "--file", str(file.relative_to(ROOT)), "--tag", reference, "."])
        if registry:
            steps.append([engine, "push", reference])
    return steps


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make images", description=__doc__)
    parser.add_argument("--registry", help="for example registry.example.com/team")
    parser.add_argument("--engine", choices=_ENGINES, help="by default the first of them that is installed")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    options = parser.parse_args(words)
    if options.registry is not None and not re.fullmatch(r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*/?", options.registry):
        return _say(f"REGISTRY is not a registry: {options.registry!r}; for example registry.example.com/team")
    engine = options.engine or next(filter(shutil.which, _ENGINES), None)
    if engine is None:
        return _say("building images needs docker or podman, and neither is installed")
    for command in commands(engine, options.registry):
        print("$", shlex.join(command), flush=True)  # noqa: T201
        if not options.dry_run and (status := subprocess.run(command, cwd=ROOT, check=False).returncode):
            return _say(f"this command failed with status {status}")
    if options.registry:
        print(f"for the chart: --set registry={options.registry.rstrip('/')}")  # noqa: T201
    return 0


def _say(text: str) -> int:
    print(text, file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
