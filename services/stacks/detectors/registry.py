"""The detectors in their order: the caller's definitions, then the rules, and last those that call a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from services.stacks.detectors.build_systems import BuildSystems, Orchestrators, PackageManagers
from services.stacks.detectors.definitions import Definitions
from services.stacks.detectors.frameworks import Frameworks
from services.stacks.detectors.javascript import JavaScriptManagers
from services.stacks.detectors.languages import Languages, Runtimes
from services.stacks.detectors.python import PythonManagers
from services.stacks.packages.package import Package, TechnologyFinding
from services.stacks.packages.survey import Survey
from services.stacks.rules.technologies import TechnologyRules
from shared.contracts.detect import Definition, TechnologyKind


class Detector(Protocol):
    """Checks every package of a survey for technologies of one kind; the phases treat all detectors alike."""

    @property
    def kind(self) -> TechnologyKind: ...

    def detect(self, survey: Survey) -> Iterable[tuple[Package, TechnologyFinding]]: ...


#: A new detector is a class in this package and one row here; later ones see what earlier ones found.
RULE_DETECTORS: tuple[Callable[[TechnologyRules], Detector], ...] = (
    JavaScriptManagers,
    PythonManagers,
    BuildSystems,
    PackageManagers,
    Languages,
    Frameworks,
    Runtimes,
    Orchestrators,
)


def build_detectors(
    rules: TechnologyRules, mode: str, definitions: Sequence[Definition] = (), llm: Sequence[Detector] = ()
) -> list[Detector]:
    """Return the detectors; ``static`` leaves out those that call a model, ``llm_only`` everything else."""
    if mode == "llm_only":
        return list(llm)
    ruled = [*(Definitions(definition, rules) for definition in definitions), *(make(rules) for make in RULE_DETECTORS)]
    return ruled if mode == "static" else [*ruled, *llm]
