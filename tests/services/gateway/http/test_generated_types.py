"""Types that a third party's generator makes of the document take a request with its required members alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
TOOLS = ROOT / "console" / "node_modules" / ".bin"
SCRIPT = """\
import type { paths } from "./api.js";

type Body = paths["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"];
const bodies: Body[] = [
  { kind: "execute", input: { language: "python", code: "6*7" } },
  { kind: "transform", input: { task: "total", data: [{ csv: "a\\n1" }] } },
  { kind: "search", input: { question: "x", collection: "c" } },
];
export default bodies;
"""


def reached(part: object, schemas: dict[str, Any], seen: set[str]) -> Iterator[dict[str, Any]]:
    """Every schema that a request body consists of."""
    if isinstance(part, list):
        for each in part:
            yield from reached(each, schemas, seen)
    elif isinstance(part, dict):
        yield part
        name = str(part.get("$ref", "")).rpartition("/")[2]
        if name and name not in seen:
            seen.add(name)
            yield from reached(schemas[name], schemas, seen)
        for key, value in part.items():
            if key not in {"example", "examples"}:
                yield from reached(value, schemas, seen)


def test_no_member_of_a_request_body_has_a_default_that_generators_take_for_required(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    seen: set[str] = set()
    operations = [each for path in document["paths"].values() for each in path.values() if "requestBody" in each]
    assert len(operations) > 10
    members = 0
    for operation in operations:
        for schema in reached(operation["requestBody"], schemas, seen):
            properties = schema.get("properties")
            for name, member in properties.items() if isinstance(properties, dict) else ():
                assert "default" not in member, name
                members += "x-default" in member
    assert members > 30, "the defaults are still said"


@pytest.mark.slow(seconds=5)
def test_typescript_compiles_with_the_generator_s_own_options(document: dict[str, Any], tmp_path: Path) -> None:
    if shutil.which("node") is None or not (TOOLS / "openapi-typescript").exists() or not (TOOLS / "tsc").exists():
        pytest.skip("the console's tools are not installed here: python console/build.py --tools")
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "use.ts").write_text(SCRIPT)
    commands: tuple[list[str | Path], ...] = (
        [TOOLS / "openapi-typescript", "openapi.json", "-o", "api.d.ts"],
        [TOOLS / "tsc", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "use.ts"],
    )
    for command in commands:
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
