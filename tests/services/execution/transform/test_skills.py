"""Guidance enters the prompt when it matches; a folder that reaches outside itself is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.execution.transform.skills import SHIPPED, SkillRefused, load_skills, matching
from tests.services.execution.transform.support import TransformJobs, python

HEADER = "---\nname: {name}\ndescription: d\napplies_to:\n  words: [pivot]\n{more}---\n{text}\n"


def put(root: Path, name: str, text: str = "be careful", more: str = "") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(HEADER.format(name=name, text=text, more=more))
    return folder


def test_what_ships_is_well_formed_and_matches_its_words() -> None:
    shipped = load_skills([SHIPPED])
    assert len(shipped) >= 5
    names = [skill.name for skill in matching(shipped, "Pivot the sales by month", "python", "pandas", "table")]
    assert "pivot" in names
    assert matching(shipped, "Rename a to b.", "python", "pandas", "table") == []


def test_a_matching_skill_stands_in_the_system_message_and_the_result(jobs: TransformJobs) -> None:
    result = jobs.transform(python("result = data.head(1)"), "DONE", data="a\n1\n2\n", task="pivot it to wide")
    assert "pivot" in result.skills
    assert "# Guidance: pivot" in jobs.script.asked[0].messages[0].content


def test_the_first_folder_wins_and_templates_come_with_it(tmp_path: Path) -> None:
    folder = put(tmp_path / "one", "mine", "first", "templates: [more.md]\n")
    (folder / "more.md").write_text("a template")
    put(tmp_path / "two", "mine", "second")
    (skill,) = load_skills([tmp_path / "one", tmp_path / "two", tmp_path / "absent"])
    assert skill.text == "first\n\na template"


@pytest.mark.parametrize("name", ["../secret.md", "/etc/passwd", "a/../../secret.md"])
def test_a_template_outside_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.md").write_text("secret")
    put(tmp_path / "skills", "mine", more=f"templates: ['{name}']\n")
    with pytest.raises(SkillRefused, match="leaves its folder"):
        load_skills([tmp_path / "skills"])


def test_a_link_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = put(tmp_path / "skills", "mine", more="templates: [link.md]\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(SkillRefused, match="leads out"):
        load_skills([tmp_path / "skills"])


@pytest.mark.parametrize("text", ["no header", "---\nname: other\ndescription: d\n---\nx", "---\n: [\n---\nx"])
def test_a_broken_header_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "SKILL.md").write_text(text)
    with pytest.raises(SkillRefused, match="mine"):
        load_skills([tmp_path])
