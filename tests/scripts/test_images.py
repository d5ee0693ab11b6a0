"""``make images`` builds, tags and pushes what the deployments run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks.containers.__main__ import _require_images
from benchmarks.containers.podman import Failed
from scripts import images, kubernetes
from shared import VERSION


def run(*words: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.images", *words]
    env = {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=images.ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A folder with a docker that notes its arguments."""
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ntest "$1" != "${{FAILS:-none}}"\n')
    program.chmod(0o755)
    return tmp_path


def test_the_images_are_those_that_the_chart_names() -> None:
    values = yaml.safe_load((kubernetes.CHART / "values.yaml").read_text())
    assert values["images"] == {name: f"{name}:{VERSION}" for name in images.images()}


def test_with_a_registry_they_are_tagged_and_pushed(engine: Path) -> None:
    done = run("--registry", "registry.example.com:5000/team/", path=f"{engine}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    asked = (engine / "asked").read_text().splitlines()
    tag = f"registry.example.com:5000/team/assay-search:{VERSION}"
    assert f"build --file deploy/search/Dockerfile --tag {tag} ." in asked
    assert f"push {tag}" in asked
    assert len(asked) == 6
    assert "--set registry=registry.example.com:5000/team" in done.stdout


def test_without_a_registry_nothing_is_pushed(engine: Path) -> None:
    assert run(path=f"{engine}:/usr/bin:/bin").returncode == 0
    assert all(line.startswith("build ") for line in (engine / "asked").read_text().splitlines())


def test_what_fails_or_is_missing_is_said(engine: Path, tmp_path: Path) -> None:
    os.environ["FAILS"] = "push"
    try:
        failed = run("--registry", "r.example", path=f"{engine}:/usr/bin:/bin")
    finally:
        del os.environ["FAILS"]
    assert (failed.returncode, "this command failed with status 1" in failed.stderr) == (1, True)
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    missing = run(path=str(nothing))
    assert (missing.returncode, "needs docker or podman" in missing.stderr) == (1, True)
    wrong = run("--registry", "https://registry.example", path=f"{engine}:/usr/bin:/bin")
    assert (wrong.returncode, "REGISTRY is not a registry" in wrong.stderr) == (1, True)


def test_containers_run_with_the_images_that_were_built(tmp_path: Path) -> None:
    files = [*images.images().values(), images.ROOT / "docker-compose.yml"]
    text = "\n".join(file.read_text() for file in files)
    named = set(re.findall(r"^(?:FROM|\s+image:) ([a-z]+:[\w.-]+)", text, re.MULTILINE))  # of docker.io/library
    assert {"python:3.13-slim-bookworm", "postgres:18-bookworm"} <= named
    built = {f"docker.io/library/{name}" for name in named} | {
        f"localhost/{name}:{VERSION}" for name in images.images()
    }

    class Full:
        folder = tmp_path

        def image_bytes(self, name: str) -> int | None:
            return 1 if name in built else None

    _require_images(Full())  # type: ignore[arg-type]


def test_containers_say_which_images_are_missing_and_how_to_build_them(tmp_path: Path) -> None:
    class Empty:
        folder = tmp_path

        def image_bytes(self, name: str) -> int | None:
            return 1 if "postgres" in name else None

    with pytest.raises(Failed) as refused:
        _require_images(Empty())  # type: ignore[arg-type]
    assert f"localhost/assay:{VERSION}" in str(refused.value)
    assert "postgres" not in str(refused.value)
    assert 'make containers ARGS="--part images"' in str(refused.value)
