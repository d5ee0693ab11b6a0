"""Bills of materials name every package of a lock, and provenance every file, lock and commit."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts import supply_chain
from scripts.lock_images import IMAGES
from tests.services.stacks.outputs.test_outputs import validator


@pytest.mark.parametrize("image", IMAGES)
def test_a_bill_has_every_package_of_its_lock_and_fits_the_schema(image: str) -> None:
    bill = supply_chain.bill_of_materials(image, supply_chain.packages_of(image))
    assert list(validator().iter_errors(bill)) == []
    lock = (supply_chain.ROOT / "deploy" / image / "requirements.lock").read_text()
    pinned = {line.split(" ")[0] for line in lock.splitlines() if "==" in line and line[0].isalnum()}
    assert isinstance(bill, dict)
    named = {f"{each['name']}=={each['version']}" for each in json.loads(json.dumps(bill["components"]))}
    assert pinned <= named


def test_the_client_needs_little_and_what_it_needs_in_turn_is_named() -> None:
    names = {package.name for package in supply_chain.packages_of_client()}
    assert {"anyio", "httpx2", "pydantic", "pydantic-core"} <= names
    assert names.isdisjoint({"fastapi", "celery", "sqlalchemy", "pandas"})


def test_a_package_has_the_hashes_of_its_lock() -> None:
    [package] = [each for each in supply_chain.packages("requirements.lock") if each.name == "pydantic"]
    assert all(len(each) == 64 for each in package.hashes)
    assert package.purl == f"pkg:pypi/pydantic@{package.version}"


def test_provenance_names_files_images_locks_and_the_commit(tmp_path: Path) -> None:
    if not (supply_chain.ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    (tmp_path / "x.whl").write_bytes(b"wheel")
    image = f"registry.example/assay@sha256:{'0' * 64}"
    statement = json.loads(json.dumps(supply_chain.provenance([tmp_path / "x.whl"], [image], datetime.now(UTC))))
    assert statement["subject"] == [
        {"name": "x.whl", "digest": {"sha256": hashlib.sha256(b"wheel").hexdigest()}},
        {"name": "registry.example/assay", "digest": {"sha256": "0" * 64}},
    ]
    made_of = {
        each["uri"]: each["digest"] for each in statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    }
    assert len(made_of["git+assay"]["gitCommit"]) == 40
    assert {"requirements.lock", "deploy/execution/requirements.lock"} <= set(made_of)
    assert str(tmp_path) not in json.dumps(statement)


def test_an_image_without_a_digest_is_refused() -> None:
    with pytest.raises(SystemExit, match="NAME@sha256:DIGEST"):
        supply_chain.provenance([], ["registry.example/assay:latest"], datetime.now(UTC))
