"""The table of what real servers did names tests that there are."""

from __future__ import annotations

import re

from tests.docs.examples import ROOT

PAGE = ROOT / "docs" / "llm.md"
_TEST = re.compile(r"`(?:(?P<file>[\w/]+\.py))?(?:::)?(?P<name>test_\w+)`")
_HOME = "tests/shared/llm/test_real_servers.py"  #: of tests without a file


def test_every_defect_names_a_test_that_there_is() -> None:
    table = PAGE.read_text().partition("## Found with real servers")[2]
    rows = [row for row in table.splitlines() if re.match(r"\| \d+\. ", row)]
    assert len(rows) == 17
    files = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    for row in rows:
        cell, file = row.split(" | ")[-1], _HOME
        named = list(_TEST.finditer(cell))
        assert named, row
        for test in named:
            file = test["file"] or (file if f"`::{test['name']}`" in cell else _HOME)
            held = [text for path, text in files.items() if path.endswith(f"/{file}") or path == file]
            assert any(f"def {test['name']}(" in text for text in held), f"{file}::{test['name']}"
