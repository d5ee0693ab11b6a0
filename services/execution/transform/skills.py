"""Guidance for particular kinds of task: folders with a header that enter the prompt when they match."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.faults import field_fault, form, worded
from shared.languages import TransformLanguage

_FILE = "SKILL.md"
_NAME = form(
    r"^[a-z0-9][a-z0-9-]{0,63}$", "must begin with a-z or 0-9, and have at most 64 lowercase letters, digits and -"
)
_MAX_BYTES = 20_000
_MAX_AT_ONCE = 3
#: The guidance that ships with Assay.
SHIPPED = Path(__file__).parent.parent / "skills"


class SkillRefused(Exception):
    """A skill's folder is not what it should be; says which and why."""


class _AppliesTo(BaseModel):
    model_config = ConfigDict(extra="forbid")

    words: list[str] = []  #: any of them in the task; none: every task
    languages: list[TransformLanguage] = []
    dataframes: list[Literal["pandas", "polars"]] = []
    outputs: list[Literal["table", "plot"]] = []


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=_NAME)]
    description: Annotated[str, Field(max_length=500)]
    applies_to: _AppliesTo = _AppliesTo()
    templates: list[str] = []  #: further files of the folder that enter the prompt with it


@dataclass(frozen=True)
class Skill:
    name: str
    description: str
    text: str
    applies_to: _AppliesTo


def load_skills(folders: Sequence[Path]) -> list[Skill]:
    """Return every skill under the folders; of two with one name the first counts. Raises: SkillRefused."""
    skills: dict[str, Skill] = {}
    for root in folders:
        if not root.is_dir():
            continue
        for folder in sorted(root.iterdir()):
            if (folder / _FILE).is_file():
                skill = _load(root, folder)
                skills.setdefault(skill.name, skill)
    return list(skills.values())


def matching(skills: Sequence[Skill], task: str, language: str, dataframe: str, output: str) -> list[Skill]:
    """Return the skills whose words occur in the task most often, at most three."""
    scored: list[tuple[int, Skill]] = []
    for skill in skills:
        applies = skill.applies_to
        fits = all(
            not allowed or given in allowed
            for allowed, given in ((applies.languages, language), (applies.outputs, output))
        )
        fits = fits and (not applies.dataframes or dataframe in applies.dataframes)
        score = sum(bool(re.search(rf"\b{re.escape(word)}", task, re.IGNORECASE)) for word in applies.words)
        if fits and (score or not applies.words):
            scored.append((score, skill))
    scored.sort(key=lambda pair: (-pair[0], pair[1].name))
    return [skill for _, skill in scored[:_MAX_AT_ONCE]]


def _load(root: Path, folder: Path) -> Skill:
    text = _inside(root, folder / _FILE).read_text(encoding="utf-8")
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise SkillRefused(f"skill {folder.name}: it needs a header between two lines of ---")
    try:
        header = _Header.model_validate(yaml.safe_load(parts[1]))
    except yaml.YAMLError as error:
        raise SkillRefused(f"skill {folder.name}: its header is not YAML: {error}") from None
    except ValidationError as error:
        faults = "; ".join(field_fault(".".join(map(str, each["loc"])), worded(each)) for each in error.errors())
        raise SkillRefused(f"skill {folder.name}: its header does not fit: {faults}") from None
    if header.name != folder.name:
        raise SkillRefused(f"skill {folder.name}: its header names it {header.name}")
    body = [parts[2].strip(), *(_template(folder, name) for name in header.templates)]
    return Skill(header.name, header.description, "\n\n".join(body), header.applies_to)


def _template(folder: Path, name: str) -> str:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise SkillRefused(f"skill {folder.name}: template {name!r} leaves its folder")
    return _inside(folder, folder / path).read_text(encoding="utf-8").strip()


def _inside(root: Path, path: Path) -> Path:
    """Return the file itself, when no link leads out of the folder. Raises: SkillRefused."""
    real = path.resolve()
    if not real.is_relative_to(root.resolve()):
        raise SkillRefused(f"skill {path.parent.name}: {path.name} leads out of its folder")
    if not real.is_file() or real.stat().st_size > _MAX_BYTES:
        raise SkillRefused(f"skill {path.parent.name}: {path.name} is missing or larger than {_MAX_BYTES} bytes")
    return real
