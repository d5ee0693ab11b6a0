"""The other forms: UniversalBuild's names and places, CycloneDX by its schema, Dockerfiles by a linter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from services.stacks.outputs.cyclonedx import cyclonedx
from services.stacks.outputs.dockerfile import dockerfile
from services.stacks.outputs.universalbuild import universalbuild
from tests.services.stacks import test_projects
from tests.services.stacks.projects import awkward, javascript, jvm_dotnet, monorepos, native_and_others, python
from tests.services.stacks.projects.case import Case
from tests.services.stacks.trees import Files, detected, engine

CASES = [
    *javascript.RUNS,
    *python.MANAGERS,
    *jvm_dotnet.CASES,
    *native_and_others.CASES,
    *monorepos.CASES,
    *awkward.CASES,
]
#: Every small project whose detection is measured for accuracy.
MEASURED = [case.files for case in test_projects.CASES]
SCHEMAS = Path(__file__).with_name("schemas")


@cache
def validator() -> Draft7Validator:
    loaded = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry: Registry[Any] = Registry()
    for schema in loaded.values():
        resource = Resource.from_contents(schema)
        registry = registry.with_resource(schema["$id"], resource)
    return Draft7Validator(loaded["bom-1.6.schema.json"], registry=registry)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_cyclonedx_document_fits_its_schema(case: Case) -> None:
    document = cyclonedx(detected(case.files), engine().rules, "1.0.0")
    assert [error.message for error in validator().iter_errors(json.loads(json.dumps(document)))] == []


def test_components_carry_package_urls() -> None:
    files = {
        "package.json": {"name": "a", "dependencies": {"@nestjs/core": "10.3.0"}},
        "go/go.mod": "module x\n\nrequire github.com/gin-gonic/gin v1.9.1\n",
    }
    text = json.dumps(cyclonedx(detected(files), engine().rules, "1.0.0"))
    assert "pkg:npm/%40nestjs/core@10.3.0" in text
    assert "pkg:golang/github.com/gin-gonic/gin@v1.9.1" in text


def test_universalbuild_keeps_names_and_places() -> None:
    files = {
        "package.json": {"name": "web", "scripts": {"start": "next start", "build": "next build"}, "dependencies": {"next": "14"}},
        "pnpm-lock.yaml": "x: 1\n", "app/page.js": "1\n",
    }  # fmt: skip
    record: Any = universalbuild(detected(files))[0]
    assert list(record)[:4] == ["version", "metadata", "build", "runtime"]
    assert record["version"] == "1.0"
    assert {key: record["metadata"][key] for key in ("project_name", "language", "build_system", "framework")} == {
        "project_name": "web", "language": "javascript", "build_system": "pnpm", "framework": "nextjs",
    }  # fmt: skip
    assert "package.json" in record["metadata"]["reasoning"]
    assert set(record["build"]) == {"packages", "env", "commands", "cache"}
    assert set(record["runtime"]) == {"packages", "env", "copy", "command", "ports", "health"}
    assert record["runtime"]["copy"] == [{"from": ".next", "to": "/app/.next"}]
    assert (record["root"], record["primary"], record["runtime_id"]) == ("", True, "node")
    for candidate in record["candidates"]:
        assert all(record["evidence"][index]["file"] for index in candidate["evidence"])


def test_exactly_one_record_is_primary() -> None:
    for case in monorepos.CASES:
        records: Any = universalbuild(detected(case.files))
        assert sum(record["primary"] for record in records) == (1 if records else 0), case.name


@pytest.mark.slow
def test_dockerfiles_pass_the_linter(tmp_path: Path) -> None:
    texts = {dockerfile(detected(files), engine().rules) for files in MEASURED}
    paths = []
    for number, text in enumerate(sorted(text for text in texts if "FROM" in text)):
        paths.append(tmp_path / f"{number}.Dockerfile")
        paths[-1].write_text(text)
    assert len(paths) > 200
    # DL3003, DL3042, DL3059 and so on are tastes; what is left are mistakes.
    command = [
        str(Path(sys.executable).parent / "hadolint"),
        "--failure-threshold",
        "warning",
        "--ignore",
        "DL3042",
        "--ignore",
        "DL3059",
        "--ignore",
        "DL3016",
    ]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:2000]


def test_a_dockerfile_builds_each_service_and_the_primary_one_last() -> None:
    files = {
        "web/package.json": {"name": "web", "scripts": {"start": "node ."}}, "web/index.js": "1\n", "web/Procfile": "web: node .\n",
        "api/go.mod": "module api\n\ngo 1.22\n", "api/main.go": "package main\n",
    }  # fmt: skip
    text = dockerfile(detected(files), engine().rules)
    assert [line.split(" AS ")[1] for line in text.splitlines() if line.startswith("FROM")] == [
        "api-build",
        "api",
        "web-build",
        "web",
    ]
    assert 'CMD ["node", "."]' in text


def test_nothing_to_build_is_said() -> None:
    assert dockerfile(detected({}), engine().rules).startswith("# Nothing to build")


def test_cyclonedx_tells_each_backing_service_once_and_who_depends_on_it() -> None:
    files = {
        "api/package.json": {"name": "api", "dependencies": {"express": "4", "pg": "8"}},
        "jobs/package.json": {"name": "jobs", "dependencies": {"pg": "8", "ioredis": "5"}},
    }
    document: Any = cyclonedx(detected(files), engine().rules, "1.0.0")
    assert [error.message for error in validator().iter_errors(json.loads(json.dumps(document)))] == []
    backing = {one["bom-ref"]: one for one in document["services"] if one["bom-ref"].startswith("backing:")}
    assert list(backing) == ["backing:postgresql", "backing:redis"]
    postgres = {one["name"]: one["value"] for one in backing["backing:postgresql"]["properties"]}
    assert postgres["assay:category"] == "database"
    assert {name for name in postgres if "evidence" in name} == {"assay:evidence:api", "assay:evidence:jobs"}
    needed = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
    assert "backing:redis" in needed["service:jobs"]
    assert "backing:redis" not in needed["service:api"]
    assert "backing:postgresql" in needed["service:api"]


WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
    "Cargo.lock": "version = 3\n",
    "crates/cli/Cargo.toml": '[package]\nname = "acme-cli"\n[dependencies]\nclap = "4"\n',
    "crates/cli/src/main.rs": "fn main() {}\n",
    "crates/api/Cargo.toml": '[package]\nname = "acme-api"\n[dependencies]\naxum = "0.7"\n',
    "crates/api/src/main.rs": 'fn main() { let l = TcpListener::bind("0.0.0.0:8081"); }\n',
}


def stages(text: str) -> dict[str, list[str]]:
    """The instructions of each target."""
    blocks = re.split(r"(?m)^FROM \S+ AS (\S+)$", text)
    return {name: body.strip().splitlines() for name, body in zip(blocks[1::2], blocks[2::2], strict=True)}


def test_members_of_a_cargo_workspace_are_built_into_its_root_and_expose_their_own_ports() -> None:
    built = stages(dockerfile(detected(WORKSPACE), engine().rules))
    assert "COPY --from=crates-cli-build /app/target/release/acme-cli /app/acme-cli" in built["crates-cli"]
    assert 'CMD ["/app/acme-cli"]' in built["crates-cli"]
    assert not any(line.startswith("EXPOSE") for line in built["crates-cli"])
    assert "EXPOSE 8081" in built["crates-api"]
    assert any(line.startswith("RUN --mount=type=cache,target=/usr/local/cargo") for line in built["crates-api-build"])


@pytest.mark.parametrize("files", [WORKSPACE, *(case.files for case in monorepos.CASES)])
def test_no_service_runs_as_root_and_every_program_that_is_run_was_copied(files: Files) -> None:
    for name, lines in stages(dockerfile(detected(files), engine().rules)).items():
        if name.endswith("-build") or not lines:
            continue
        assert "USER 10001:10001" in lines, name
        copied = [line.split()[-1] for line in lines if line.startswith("COPY --from")]
        command: list[str] = next((json.loads(line[4:]) for line in lines if line.startswith("CMD")), [])
        if copied and command and command[0].startswith("/"):
            assert command[0] in copied


def test_an_interpreted_program_leaves_its_build_tools_behind() -> None:
    files = {
        "requirements.txt": "flask==3.0.0\n",
        "app.py": "from flask import Flask\napp = Flask(__name__)\napp.run()\n",
    }
    built = stages(dockerfile(detected(files), engine().rules))
    (final,) = (lines for name, lines in built.items() if not name.endswith("-build"))
    assert [line.split()[-1] for line in final if line.startswith("COPY --from")] == ["/opt/venv", "/app"]
    assert "ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH" in final
