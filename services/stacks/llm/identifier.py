"""One question for all that is open; the answer is checked against the tree, and what fails gets one more try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from services.stacks.llm.answers import Fact, accept, parse, schema
from services.stacks.llm.questions import KINDS, Subject, open_questions
from services.stacks.llm.redaction import redacted
from services.stacks.packages.package import Finding, Package
from services.stacks.packages.survey import Survey, split_off
from services.stacks.rules.technologies import Rules
from services.stacks.tree import join
from shared.contracts.detect import Kind
from shared.errors import NoProviderConfigured, ProvidersFailed
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Prompts, Provider
from shared.loop import Budget, BudgetSpent

ROLE = "stacks.identify"
_MOST_NAMES = 150
_MOST_SHOWN = 6
_SHOWN_CHARACTERS = 3000
_MOST_CHARACTERS = 48_000
_MARK = ("BEGIN PACKAGE", "END PACKAGE")


@dataclass
class Identifier:
    """Shared by the detectors that ask: the first of them asks for all, so that a tree costs one call."""

    llm: Provider
    prompts: Prompts
    budget: Budget
    rules: Rules
    every: bool
    on_turn: Callable[[int, JsonValue, JsonValue], None] = lambda number, proposal, outcome: None
    facts: list[tuple[Package, Fact]] | None = None
    calls: int = 0
    asked: bool = False  #: whether there was anything to ask, answered or not
    _turn: int = field(default=0, repr=False)

    def facts_of(self, survey: Survey) -> list[tuple[Package, Fact]]:
        """The believed facts; asked for once.

        Raises: NoProviderConfigured and ProvidersFailed when nothing else can answer (``llm_only``).
        """
        if self.facts is None:
            self.facts = []
            subjects = open_questions(survey, self.rules, self.every)
            self.asked = bool(subjects)
            for batch in _batches(survey, subjects):
                if not self._ask(survey, batch):
                    break
            survey.llm_calls = self.calls
        return self.facts

    def _ask(self, survey: Survey, batch: list[tuple[Subject, str]]) -> bool:
        prompt = self.prompts.render(ROLE, kinds=", ".join(KINDS), packages="\n\n".join(text for _, text in batch))
        messages = [ChatMessage("user", prompt.text)]
        wrong: list[str] = []
        for attempt in (1, 2):
            reply = self._reply(survey, ChatRequest(ROLE, tuple(messages), schema=schema(), prompt=prompt.version))
            if reply is None:
                return False
            believed, wrong, notes = self._check(survey, reply.text, [subject for subject, _ in batch])
            self.facts = [*(self.facts or []), *believed]
            for where, note in notes:
                self._warn(survey, where, note)
            self.on_turn(self._turn, reply.text[:4000], "; ".join(wrong) or "believed")
            if not wrong or attempt == 2:
                break
            messages += [ChatMessage("assistant", reply.text), ChatMessage("user", _feedback(wrong))]
        for one in wrong:
            survey.warnings.append(f"dropped what the model said: {one}")
        return True

    def _reply(self, survey: Survey, request: ChatRequest) -> ChatReply | None:
        try:
            self.budget.spend_turn()
            self._turn += 1
            reply = self.llm.complete(request)
        except NoProviderConfigured:
            if self.every:
                raise
            survey.warnings.append("no model provider is configured: the detection ran as static")
            return None
        except ProvidersFailed as failed:
            if self.every and not self.calls:
                raise
            survey.warnings.append(f"the model could not be asked, the rest is from rules: {failed.detail[:200]}")
            return None
        except BudgetSpent as spent:
            survey.warnings.append(f"{spent}: some packages were not asked about")
            return None
        self.calls += 1
        return reply

    def _check(
        self, survey: Survey, text: str, subjects: Sequence[Subject]
    ) -> tuple[list[tuple[Package, Fact]], list[str], list[tuple[str, str]]]:
        items, wrong = parse(text)
        roots = {subject.root: subject for subject in subjects}
        believed: list[tuple[Package, Fact]] = []
        notes: list[tuple[str, str]] = []
        seen = {(package.path, fact.kind, fact.id) for package, fact in self.facts or []}
        for item in items:
            fact, problem, note = accept(item, roots, survey, self.rules)
            if problem:
                wrong.append(problem)
            if fact and (fact.root, fact.kind, fact.id) not in seen:
                seen.add((fact.root, fact.kind, fact.id))
                believed.append((_package(survey, fact.root), fact))
            if note:
                notes.append(note)
        return believed, wrong, notes

    def _warn(self, survey: Survey, root: str, note: str) -> None:
        package = survey.packages.get(root)
        if package is not None:
            package.warnings.append(note)
        else:
            survey.warnings.append(f"{root or '.'}: {note}")


def _package(survey: Survey, root: str) -> Package:
    if root not in survey.packages:
        split_off(survey, root)
    return survey.packages[root]


def _feedback(wrong: list[str]) -> str:
    listed = "\n".join(f"- {one}" for one in wrong[:20])
    return (
        f"These parts of your answer do not hold:\n{listed}\n\n"
        "Answer again with one JSON object of the same form, holding only corrected identifications for them; "
        "cite files that you were shown. Leave out what no file proves."
    )


def _batches(survey: Survey, subjects: list[Subject]) -> list[list[tuple[Subject, str]]]:
    """As many packages in one call as fit."""
    batches: list[list[tuple[Subject, str]]] = []
    room = 0
    for subject in subjects:
        text = _shown(survey, subject)
        if len(text) > room:
            batches.append([])
            room = _MOST_CHARACTERS
        batches[-1].append((subject, text))
        room -= len(text)
    return batches


def _shown(survey: Survey, subject: Subject) -> str:
    """A package as the model sees it: names, then the beginnings of what says most."""
    paths = [join(folder.path, name) for folder in subject.folders for name in sorted(folder.files)]
    names = "\n".join(f"  {path}" for path in paths[:_MOST_NAMES])
    if len(paths) > _MOST_NAMES:
        names += f"\n  ... and {len(paths) - _MOST_NAMES} more"
    parts = [f'{_MARK[0]}\nroot: "{subject.root}"\nasked for: {", ".join(subject.kinds)}\nfiles:\n{names}']
    shown = 0
    for path in sorted(paths, key=lambda path: (path.count("/"), _dull(path), path)):
        if shown == _MOST_SHOWN:
            break
        head = survey.scan.tree.read(path, _SHOWN_CHARACTERS)
        if head is None or b"\0" in head or not head.strip():
            continue
        text = redacted(head.decode("utf-8", "replace"))
        for mark in _MARK:
            text = text.replace(mark, mark.lower())
        parts.append(f"--- {path}\n{text.rstrip()}")
        shown += 1
    return "\n".join([*parts, _MARK[1]])


def _dull(path: str) -> int:
    name = path.rpartition("/")[2].lower()
    secret = name.startswith(".env") or name.endswith((".pem", ".key", ".lock", "-lock.json", "-lock.yaml"))
    return 2 if secret else int(name.startswith((".", "readme", "license")) or name.endswith((".md", ".txt", ".svg")))


@dataclass(frozen=True)
class LlmDetector:
    interview: Identifier
    kind: Kind

    def detect(self, survey: Survey) -> Iterable[tuple[Package, Finding]]:
        for package, fact in self.interview.facts_of(survey):
            if fact.kind != self.kind:
                continue
            known = package.findings.get((fact.kind, fact.id))
            proofs = list(fact.proofs)
            if known is not None:  # what a rule found keeps its own confidence
                proofs = [proof._replace(weight=0.0) for proof in proofs]
            technology = self.interview.rules.get(fact.kind, fact.id)
            yield package, Finding(
                fact.kind, fact.id, fact.name, proofs, custom=fact.custom, source="llm",
                tier=technology.tier if technology else 0, ecosystem=technology.ecosystem if technology else "",
            )  # fmt: skip


def llm_detectors(interview: Identifier) -> list[LlmDetector]:
    kinds: tuple[Kind, ...] = (*KINDS[:2], "package_manager", *KINDS[2:])
    return [LlmDetector(interview, kind) for kind in kinds]
