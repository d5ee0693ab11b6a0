"""One question for all that is open; the answer is checked against the tree, and what fails gets one more try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from services.stacks.llm.answers import Fact, accept, parse, schema
from services.stacks.llm.package_view import Detail, compacted, shown
from services.stacks.llm.questions import KINDS, Subject, open_questions
from services.stacks.packages.package import Package, TechnologyFinding
from services.stacks.packages.survey import Survey, split_off
from services.stacks.rules.technologies import TechnologyRules
from shared.contracts.detect import TechnologyKind
from shared.errors import NoProviderConfigured, ProvidersFailed
from shared.llm.chat import ChatMessage, ChatRequest, Finish, Prompts, Provider
from shared.loop import Again, Budget, BudgetSpent, Done, Turn, run_loop

ROLE = "stacks.identify"
_MAX_CHARACTERS = 48_000
_ENDED = {
    Finish.LENGTH: ("the answer was cut before its end: give fewer identifications",),
    Finish.REFUSAL: ("the model refused to answer",),
}


@dataclass
class Identifier:
    """Shared by the detectors that call a model: the first call covers all kinds, so that a tree costs one call."""

    llm: Provider
    prompts: Prompts
    budget: Budget
    rules: TechnologyRules
    every: bool
    on_turn: Callable[[int, JsonValue, JsonValue], None] = lambda number, proposal, outcome: None
    facts: list[tuple[Package, Fact]] | None = None
    calls: int = 0
    asked: bool = False  #: whether there were questions, answered or not
    _turn: int = field(default=0, repr=False)

    def facts_of(self, survey: Survey) -> list[tuple[Package, Fact]]:
        """Return the accepted facts; the model is called once.

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
        """Call the model about the packages of one batch; False when no further call is possible."""
        try:
            problems = self._identify(survey, batch)
        except NoProviderConfigured:
            if self.every:
                raise
            survey.warnings.append("no model provider is configured: the detection ran as static")
        except ProvidersFailed as failed:
            if self.every and not self.calls:
                raise
            survey.warnings.append(f"the model could not be called, the rest is from rules: {failed.detail[:200]}")
        except BudgetSpent as spent:
            survey.warnings.append(f"{spent}: the model was not called about some packages.{spent.why}")
        else:
            survey.warnings += [f"dropped what the model said: {problem}" for problem in problems]
            return True
        return False

    def _identify(self, survey: Survey, batch: list[tuple[Subject, str]]) -> list[str]:
        """Return what is still wrong with the model's answer after one correction. Raises: BudgetSpent,
        ProvidersFailed.
        """
        roots = {subject.root: subject for subject, _ in batch}
        prompt = self.prompts.render(ROLE, kinds=", ".join(KINDS), packages="\n\n".join(text for _, text in batch))

        def shorter(detail: Detail) -> str:
            texts = [shown(survey, subject, detail) for subject, _ in batch]
            return self.prompts.render(ROLE, kinds=", ".join(KINDS), packages="\n\n".join(texts)).text

        answers: list[str] = []
        endings: list[Finish] = []

        def propose(turns: Sequence[Turn[str, list[str]]]) -> str:
            messages = [ChatMessage("user", prompt.text)]
            for turn in turns:
                if isinstance(turn.outcome, Again):
                    messages += [ChatMessage("assistant", turn.proposal), ChatMessage("user", turn.outcome.feedback)]
            request = ChatRequest(
                ROLE, tuple(messages), schema=schema(), prompt=prompt.version,
                compact=lambda tokens: compacted(shorter, messages[1:], tokens),
            )  # fmt: skip
            reply = self.llm.complete(request)
            self.calls += 1
            endings.append(reply.finish)
            return reply.text

        def execute(text: str) -> Done[list[str]] | Again:
            answers.append(text)
            problems = [*_ENDED.get(endings[-1], ()), *self._accept(survey, text, roots)]
            return Again(_feedback(problems), "; ".join(problems)) if problems and len(answers) == 1 else Done(problems)

        return run_loop(propose, execute, self.budget, self._tell)

    def _tell(self, turn: Turn[str, list[str]]) -> None:
        self._turn += 1
        outcome = turn.outcome.outcome if isinstance(turn.outcome, Again) else "; ".join(turn.outcome.result)
        self.on_turn(self._turn, turn.proposal[:4000], outcome or "believed")

    def _accept(self, survey: Survey, text: str, roots: Mapping[str, Subject]) -> list[str]:
        """Keep the facts of an answer that hold; return the faults of the others."""
        items, problems = parse(text)
        facts = self.facts = self.facts or []
        seen = {(package.path, fact.kind, fact.id) for package, fact in facts}
        notes: list[tuple[str, str]] = []
        for item in items:
            fact, problem, note = accept(item, roots, survey, self.rules)
            if problem:
                problems.append(problem)
            if fact and (fact.root, fact.kind, fact.id) not in seen:
                seen.add((fact.root, fact.kind, fact.id))
                facts.append((_package(survey, fact.root), fact))
            if note:
                notes.append(note)
        for root, remark in notes:
            self._warn(survey, root, remark)
        return problems

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


def _feedback(problems: list[str]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems[:20])
    return (
        f"These parts of your answer do not hold:\n{listed}\n\n"
        "Answer again with one JSON object of the same form, holding only corrected identifications for them; "
        "cite files that you were shown. Leave out what no file proves."
    )


def _batches(survey: Survey, subjects: list[Subject]) -> list[list[tuple[Subject, str]]]:
    """Group the packages, as many per call as fit."""
    batches: list[list[tuple[Subject, str]]] = []
    left = 0
    for subject in subjects:
        text = shown(survey, subject)
        if len(text) > left:
            batches.append([])
            left = _MAX_CHARACTERS
        batches[-1].append((subject, text))
        left -= len(text)
    return batches


@dataclass(frozen=True)
class LlmDetector:
    """The model's answers as the detector of one kind: the phases treat it like any other."""

    identifier: Identifier
    kind: TechnologyKind

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]:
        for package, fact in self.identifier.facts_of(survey):
            if fact.kind != self.kind:
                continue
            known = package.findings.get((fact.kind, fact.id))
            proofs = list(fact.proofs)
            if known is not None:  # what a rule found keeps its own confidence
                proofs = [proof._replace(weight=0.0) for proof in proofs]
            technology = self.identifier.rules.get(fact.kind, fact.id)
            yield package, TechnologyFinding(
                fact.kind, fact.id, fact.name, proofs, custom=fact.custom, source="llm",
                tier=technology.tier if technology else 0, ecosystem=technology.ecosystem if technology else "",
            )  # fmt: skip


def llm_detectors(identifier: Identifier) -> list[LlmDetector]:
    kinds: tuple[TechnologyKind, ...] = (*KINDS[:2], "package_manager", *KINDS[2:])
    return [LlmDetector(identifier, kind) for kind in kinds]
