"""The detectors in their order: the caller's definitions, then the rules, and last those that ask a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from services.stacks.detectors.build_systems import BuildSystems, PackageManagers
from services.stacks.detectors.definitions import Definitions
from services.stacks.detectors.detector import Detector
from services.stacks.detectors.frameworks import Frameworks
from services.stacks.detectors.javascript import JavaScriptManagers
from services.stacks.detectors.languages import Languages
from services.stacks.detectors.orchestrators import Orchestrators
from services.stacks.detectors.python import PythonManagers
from services.stacks.detectors.runtimes import Runtimes
from services.stacks.rules.technologies import Rules
from shared.contracts.detect import Definition

#: A new detector is a class in this package and one row here; later ones see what earlier ones found.
RULE_DETECTORS: tuple[Callable[[Rules], Detector], ...] = (
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
    rules: Rules, mode: str, definitions: Sequence[Definition] = (), llm: Sequence[Detector] = ()
) -> list[Detector]:
    """``static`` leaves out the detectors that ask a model, ``llm_only`` everything else."""
    if mode == "llm_only":
        return list(llm)
    ruled = [*(Definitions(definition, rules) for definition in definitions), *(make(rules) for make in RULE_DETECTORS)]
    return ruled if mode == "static" else [*ruled, *llm]
