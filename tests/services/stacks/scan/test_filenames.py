"""What a file name means, learnt once per ending wherever the ending decides."""

from __future__ import annotations

import pytest

from services.stacks.scan.filenames import Names, is_noise, is_plain, is_source
from services.stacks.scan.markers import is_marker
from tests.services.stacks.trees import engine

NAMES = Names(engine().tables)


def test_a_name_stands_for_a_language_a_manifest_or_a_marker() -> None:
    assert NAMES.of("a.py").candidates == ["Python"]
    manifest = NAMES.of("package.json").manifest
    assert manifest is not None
    assert manifest.ecosystem == "npm"
    assert NAMES.of("yarn.lock").marker
    assert NAMES.of("x.blorb").unknown
    assert not NAMES.of("README").unknown


def test_an_ending_is_learnt_once_and_a_name_of_its_own_by_itself() -> None:
    names = Names(engine().tables)
    assert names.of("one.py") is names.of("two.py")
    assert names.of("requirements.txt") is not names.of("notes.txt")


@pytest.mark.parametrize(
    ("name", "source"), [("a.ts", True), ("a.d.ts", False), ("vite.config.ts", False), ("setup.py", False), ("a.py", True)]
)  # fmt: skip
def test_declarations_and_settings_are_no_sources(name: str, source: bool) -> None:
    assert is_source(name) is source


def test_markers_noise_and_plain_names() -> None:
    assert [is_marker(name) for name in ("Dockerfile.dev", ".env.local", "a.Dockerfile", "a.py")] == [
        True,
        True,
        True,
        False,
    ]
    assert [is_noise(name) for name in ("a.lock", ".x", "a.png", "a.blorb")] == [True, True, True, False]
    assert [is_plain(name) for name in ("README", "Dockerfile.x", "blorb")] == [True, True, False]
