"""The corpus of each target, and a few inputs more: `make fuzz` makes many."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.fuzz import corpus
from tests.fuzz.__main__ import fuzz
from tests.fuzz.targets import TARGETS

_CONTAINED = [name for name, target in TARGETS.items() if target.contained]
_OTHERS = [name for name in TARGETS if name not in _CONTAINED]


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("names", [_CONTAINED, _OTHERS[::2], _OTHERS[1::2]], ids=["contained", "some", "others"])
def test_no_input_takes_much_or_breaks_a_parser(names: list[str]) -> None:
    fuzzed = fuzz(*names, seconds=0, examples=25)
    assert not fuzzed.failure, fuzzed.failure


def test_an_input_is_added_once_and_the_archive_depends_on_its_inputs_alone(tmp_path: Path) -> None:
    kept = tmp_path / "corpus.zip"
    corpus.write({"yaml/b": b"old"}, kept)
    name = corpus.add("yaml", b"new", kept)
    first = kept.read_bytes()
    assert corpus.add("yaml", b"new", kept) == name
    assert corpus.inputs("yaml", kept) == [data for _, data in sorted({name: b"new", "yaml/b": b"old"}.items())]
    assert corpus.inputs("yam", kept) == []
    assert kept.read_bytes() == first


def test_every_input_of_the_archive_is_of_a_target() -> None:
    with ZipFile(corpus.ARCHIVE) as archive:
        assert {name.partition("/")[0] for name in archive.namelist()} <= set(TARGETS)
