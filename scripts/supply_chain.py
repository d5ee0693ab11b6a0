"""``python -m scripts.supply_chain [IMAGE@sha256:DIGEST ...]``: the wheel, what all is made of, and how it was made.

Into ``dist/``: the wheel; a CycloneDX bill of materials of the wheel and of each image's lock; ``provenance.json``, an
in-toto statement (SLSA provenance 1) of these files, the locks and the images that are named. It is not signed: sign
the statement with the key that your users trust.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pydantic import JsonValue

from scripts.lock_images import IMAGES
from shared import VERSION

ROOT = Path(__file__).resolve().parent.parent
_LOCKS = ("requirements.lock", "requirements-nodeps.lock", *(f"deploy/{image}/requirements.lock" for image in IMAGES))
_PACKAGE = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\\n]+))?"
    r"(?P<hashes>(?:[ \\\n]+--hash=sha256:\w+)+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Package:
    """A line of a lock."""

    name: str
    version: str
    marker: str | None  #: where alone it is installed
    hashes: Sequence[str]  #: SHA-256 of every distribution that may be installed

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def installed_here(self) -> bool:
        return self.marker is None or Marker(self.marker).evaluate()

    def component(self) -> JsonValue:
        """Return the component in CycloneDX form."""
        named: dict[str, JsonValue] = {"bom-ref": self.purl, "name": self.name, "version": self.version}
        hashes: list[JsonValue] = [{"alg": "SHA-256", "content": each} for each in self.hashes]
        only: list[JsonValue] = [{"name": "assay:only-where", "value": self.marker}] if self.marker else []
        return {"type": "library", **named, "purl": self.purl, "hashes": hashes, "properties": only}


def main() -> None:
    folder = ROOT / "dist"
    folder.mkdir(exist_ok=True)
    publish(folder, [], sys.argv[1:])


def publish(folder: Path, made: Sequence[Path], images: Sequence[str]) -> None:
    """Write the client's wheel, the bills of materials and the statement of all files; ``made``: further ones."""
    began = datetime.now(UTC)
    wheel = build_wheel(folder)
    written = [wheel, *made]
    bills = {"client": packages_of_client(), **{image: packages_of(image) for image in IMAGES}}
    for name, installed in bills.items():
        bill = folder / f"assay-{VERSION}-{name}.cdx.json"
        bill.write_text(json.dumps(bill_of_materials(name, installed), indent=1) + "\n")
        written.append(bill)
    statement = provenance(written, images, began)
    (folder / "provenance.json").write_text(json.dumps(statement, indent=1) + "\n")
    for file in (*written, folder / "provenance.json"):
        sys.stdout.write(f"{file.relative_to(ROOT)}\n")


def build_wheel(folder: Path) -> Path:
    """Build the wheel from what is committed, without other files of the folder."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as source:
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            if hasattr(tarfile, "data_filter"):  # since Python 3.11.4
                files.extraction_filter = tarfile.data_filter
            files.extractall(source)  # noqa: S202 - what git has just packed
        subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, source], check=True)
    [wheel] = folder.glob(f"assaykit-{VERSION}-*.whl")
    return wheel


def packages(*locks: str) -> list[Package]:
    """Return the packages of lock files; one may be listed twice, for several versions of Python."""
    text = "\n".join((ROOT / lock).read_text() for lock in locks)
    return [_package(match) for match in _PACKAGE.finditer(text)]


def packages_of(image: str) -> Iterable[Package]:
    """Return an image's Python packages. Those of its distribution are in the base image's own bill."""
    dockerfile = (ROOT / "deploy" / image / "Dockerfile").read_text()
    more = ["requirements-nodeps.lock"] if "requirements-nodeps.lock" in dockerfile else []
    return packages(f"deploy/{image}/requirements.lock", *more)


def packages_of_client() -> Iterator[Package]:
    """Yield what the wheel needs, in the tested versions: its ranges allow others."""
    known = {canonicalize_name(each.name): each for each in packages("requirements.lock") if each.installed_here}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    seen: set[str] = set()
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name in seen or name not in known:
            continue
        seen.add(name)
        yield known[name]
        for text in metadata.requires(name) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement)


def bill_of_materials(name: str, installed: Iterable[Package]) -> JsonValue:
    """Return a CycloneDX 1.6 document; the same commit gives the same one except for the time."""
    about: JsonValue = {"type": "application", "bom-ref": f"assay-{name}", "name": f"assay-{name}", "version": VERSION}
    components: list[JsonValue] = [each.component() for each in sorted(installed, key=lambda each: each.purl)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'assay-{name}-{VERSION}-{_commit()}')}",
        "version": 1,
        "metadata": {"timestamp": datetime.now(UTC).isoformat(timespec="seconds"), "component": about},
        "components": components,
    }


def provenance(files: Iterable[Path], images: Iterable[str], began: datetime) -> JsonValue:
    subjects: list[JsonValue] = [{"name": file.name, "digest": {"sha256": _sha256(file)}} for file in files]
    for image in images:
        name, _, digest = image.partition("@sha256:")
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            sys.exit(f"{image}: name an image as NAME@sha256:DIGEST")
        subjects.append({"name": name, "digest": {"sha256": digest}})
    source: JsonValue = {"uri": "git+assay", "digest": {"gitCommit": _commit()}}
    locks: list[JsonValue] = [{"uri": lock, "digest": {"sha256": _sha256(ROOT / lock)}} for lock in _LOCKS]
    ended = datetime.now(UTC)
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:assay:make-dist:1",
                "externalParameters": {"target": "dist", "uncommitted_changes": bool(_git("status", "--porcelain"))},
                "resolvedDependencies": [source, *locks],
            },
            "runDetails": {
                "builder": {"id": f"urn:assay:local-build:python-{platform.python_version()}"},
                "metadata": {"startedOn": began.isoformat(), "finishedOn": ended.isoformat()},
            },
        },
    }


def _package(match: re.Match[str]) -> Package:
    hashes = re.findall(r"sha256:(\w+)", match["hashes"])
    return Package(match["name"], match["version"], (match["marker"] or "").strip() or None, hashes)


def _commit() -> str:
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True, text=True).stdout.strip()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
