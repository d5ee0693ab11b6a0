"""Images by digest, in every file that names one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from scripts.pin_images import ROOT, files, main, name_of, references

_DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file in files(ROOT):
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return tmp_path


def test_every_image_is_named_by_its_digest_wherever_it_stands(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {name_of(reference) for file in files(copy) for reference in references(file)}
    assert names == {"assay", "assay-execution", "assay-search", "postgres", "redis", "qdrant/qdrant", "python"}
    assert main([], copy) == 1
    assert "postgres:18-bookworm: by a tag" in capsys.readouterr().out
    assert main([f"{name}=registry.example:5000/{name}@{_DIGEST}" for name in names], copy) == 0
    found = [reference for file in files(copy) for reference in references(file)]
    assert len(found) >= 15
    assert all(reference.endswith(_DIGEST) for reference in found)
    compose = yaml.safe_load((copy / "docker-compose.yml").read_text())
    assert compose["services"]["gateway"]["image"] == f"registry.example:5000/assay@{_DIGEST}"
    assert "FROM registry.example:5000/python@sha256" in (copy / "deploy" / "assay" / "Dockerfile").read_text()


def test_a_pinned_image_is_pinned_anew_under_its_name(copy: Path) -> None:
    main([f"redis=registry.example/redis@{_DIGEST}"], copy)
    newer = _DIGEST.replace("0", "f")
    main([f"redis=redis@{newer}"], copy)
    assert f"image: redis@{newer}" in (copy / "docker-compose.yml").read_text()


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("redis=redis:8", "and 64 digits"),
        (f"redis=redis@{_DIGEST}0", "and 64 digits"),
        (f"reddis=redis@{_DIGEST}", "there is no image 'reddis'; there are assay, "),
    ],
)
def test_what_is_no_digest_or_no_image_changes_nothing(
    copy: Path, capsys: pytest.CaptureFixture[str], word: str, told: str
) -> None:
    before = (copy / "docker-compose.yml").read_text()
    assert main([word], copy) == 2
    assert told in capsys.readouterr().err
    assert (copy / "docker-compose.yml").read_text() == before
