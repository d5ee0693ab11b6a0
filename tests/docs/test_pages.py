"""What README and docs promise is so."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from assay.command import build
from scripts import errors_table, settings_table
from shared.errors import AssayError

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_the_page_of_settings_is_current() -> None:
    assert settings_table.PAGE.read_text("utf-8") == settings_table.page(), "run `make generate`"
    assert settings_table.NAMES.read_text("utf-8") == settings_table.names(), "run `make generate`"


def test_the_page_of_errors_is_current() -> None:
    assert errors_table.PAGE.read_text("utf-8") == errors_table.page(), "run `make generate`"


def test_every_error_has_a_cause_and_a_remedy_whose_commands_and_settings_there_are() -> None:
    kinds: list[type[AssayError]] = [AssayError, *_subclasses(AssayError)]
    for kind in kinds:
        own = vars(kind)
        assert "code" not in own or {"cause", "remedy"} <= set(own), kind.__name__
        assert min(map(len, (kind.title, kind.cause, kind.remedy))) > 5, kind.__name__
        assert len(kind.title.split()) <= 4, f"the title of {kind.__name__} is long"
    told = " ".join(f"{kind.cause} {kind.remedy}" for kind in kinds)
    documented = settings_table.PAGE.read_text("utf-8")
    for setting in re.findall(r"\b(?:ASSAY|QDRANT|OPENAI|GROQ)_[A-Z_]+", told):
        assert f"`{setting}`" in documented, setting
    for words in re.findall(r"`assay ([a-z -]+)", told):
        app = build()
        for word in words.split():
            if word.startswith("-") or not list(app):
                break
            app = app[word]  # raises KeyError when there is no such command
    for page in re.findall(r"docs/[\w/-]+\.md", told):
        assert (ROOT / page).exists(), page


def _subclasses(kind: type[AssayError]) -> Iterator[type[AssayError]]:
    """Yield the classes of errors that Assay defines."""
    for child in kind.__subclasses__():
        if child.__module__.startswith(("shared.", "services.")):
            yield child
            yield from _subclasses(child)


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|/|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_lines_of_text_have_at_most_120_characters() -> None:
    """Rows of tables and lines of code may be longer."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert [line for line in _prose(page) if len(line) > 120] == [], page.name


def _prose(page: Path) -> Iterator[str]:
    """Yield the lines of a page outside fenced code and tables."""
    fence = ""
    for line in page.read_text("utf-8").splitlines():
        if match := re.match(r"\s*(`{3,}|~{3,})", line):
            fence = "" if fence and match[1].startswith(fence) else fence or match[1]
        elif not fence and not line.lstrip().startswith("|"):
            yield line


def test_make_help_lists_every_target_that_the_readme_names() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  make (\w+)", shown, re.MULTILINE))
    assert {"demo", "up", "down", "test", "check", "bench", "lock"} <= listed
    assert set(re.findall(r"`make (\w+)`", README.read_text("utf-8"))) <= listed | {"help"}


def test_the_tests_that_keep_findings_closed_exist() -> None:
    page = (ROOT / "docs" / "security-findings.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for file, test in named:
        text = (ROOT / "tests" / file).read_text("utf-8")
        assert (f"def {test}(" if test else "def test_") in text, f"{file} has no {test}"
