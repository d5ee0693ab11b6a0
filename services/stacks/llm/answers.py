"""A model's identifications: read leniently, accepted only with a file, a name and enough confidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from services.stacks.llm.questions import KINDS, Subject
from services.stacks.manifests.model import snippet, table, text_of
from services.stacks.packages.package import Proof
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from services.stacks.tree import join, within
from shared.contracts.detect import TechnologyKind
from shared.llm.chat import JsonSchema
from shared.llm.json_text import AnswerUnreadable
from shared.llm.json_text import parse as parse_json

REJECTED_BELOW = 0.5
SILENT_ABOVE = 0.7
_MAX_ITEMS = 200


class CitedFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    file: str
    line: int | None


class Identification(BaseModel):
    model_config = ConfigDict(extra="forbid")

    root: str
    kind: TechnologyKind
    name: str
    confidence: float = Field(ge=0, le=1)
    evidence: list[CitedFile]


class Identifications(BaseModel):
    model_config = ConfigDict(extra="forbid")

    identifications: list[Identification]


@dataclass(frozen=True)
class Fact:
    root: str
    kind: TechnologyKind
    id: str
    name: str
    custom: bool
    confidence: float
    proofs: tuple[Proof, ...]


def schema() -> JsonSchema:
    """Return the schema, which is both sent to the provider and used to check the answer."""
    return JsonSchema("identifications", Identifications.model_json_schema())


def parse(text: str) -> tuple[list[Mapping[str, JsonValue]], list[str]]:
    """Return the items of the answer, and the faults of the answer as a whole."""
    try:
        value = parse_json(text).value
    except AnswerUnreadable as unreadable:
        return [], [str(unreadable)]
    listed = value if isinstance(value, list) else table(value).get("identifications")
    if not isinstance(listed, list):
        return [], ["the answer has no list of identifications"]
    return [item for item in listed[:_MAX_ITEMS] if isinstance(item, dict)], []


def accept(
    item: Mapping[str, JsonValue], roots: Mapping[str, Subject], survey: Survey, rules: TechnologyRules
) -> tuple[Fact | None, str | None, tuple[str, str] | None]:
    """Return the fact, or the feedback for the model about it; and a note for the person with its root."""
    kind, name = text_of(item.get("kind")), (text_of(item.get("name")) or "").strip()
    root = _root(text_of(item.get("root")), roots)
    if not name:
        return None, None, (root or "", "LLM response missing required 'name' field")
    confidence = item.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not math.isfinite(confidence):
        return None, f"{name}: confidence is not a number from 0 to 1", None
    if kind not in (*KINDS, "package_manager"):
        return None, f"{name}: kind is not one of {', '.join(KINDS)}", None
    if root is None:
        return None, f"{name}: root is not one of the listed packages", None
    if not 0 <= confidence <= 1:
        return None, f"{name}: confidence is not a number from 0 to 1", None
    if confidence < REJECTED_BELOW:
        return None, None, (root, f"LLM identification confidence too low ({confidence:.2f}) for {kind} {name}")
    id, shown, custom = rules.canonical(kind, name[:100])
    proofs = _proofs(item.get("evidence"), root, survey, f"llm.{kind}", float(confidence))
    if not proofs:
        return None, f"{name} ({kind} of {root or '.'}): it cites no file that exists", None
    note = None
    if confidence <= SILENT_ABOVE:
        note = (root, f"LLM identification of {kind} {name} has a low confidence ({confidence:.2f})")
    return Fact(root, kind, id, shown, custom, float(confidence), proofs), None, note


def _root(stated: str | None, roots: Mapping[str, Subject]) -> str | None:
    if stated is None:
        return next(iter(roots)) if len(roots) == 1 else None
    plain = "/".join(part for part in stated.split("/") if part not in {"", "."})
    return plain if plain in roots else None


def _proofs(cited: object, root: str, survey: Survey, rule: str, confidence: float) -> tuple[Proof, ...]:
    """Return the citations that resolve; the first one carries the model's confidence."""
    proofs: list[Proof] = []
    for one in cited if isinstance(cited, list) else []:
        stated = text_of(one) or text_of(table(one).get("file"))
        if not stated:
            continue
        plain = "/".join(part for part in stated.split("/") if part not in {"", "."})
        path = next((candidate for candidate in (plain, join(root, plain)) if _exists(survey, candidate)), None)
        if path is None:
            continue
        line = table(one).get("line")
        text = survey.scan.tree.text(path, 1 << 16) if isinstance(line, int) and line > 0 else None
        shown = snippet(text, line) if text is not None and isinstance(line, int) else None
        number = line if shown is not None and isinstance(line, int) else None
        proofs.append(Proof(path, number, rule, shown, 0.0 if proofs else confidence))
    return tuple(proofs[:10])


def _exists(survey: Survey, path: str) -> bool:
    return bool(path) and ".." not in path.split("/") and within(path, survey.scan.root) and survey.scan.tree.has(path)
