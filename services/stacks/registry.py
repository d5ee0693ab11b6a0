"""The ordered registry: the caller's definitions, the rules, and last of all whatever asks a model."""

from __future__ import annotations

from collections.abc import Sequence

from services.stacks.detectors.build_systems import BuildSystems, PackageManagers
from services.stacks.detectors.definitions import Definitions
from services.stacks.detectors.detector import Detector, Registry
from services.stacks.detectors.frameworks import Frameworks
from services.stacks.detectors.javascript import JavaScriptManagers
from services.stacks.detectors.languages import Languages
from services.stacks.detectors.orchestrators import Orchestrators
from services.stacks.detectors.python import PythonManagers
from services.stacks.detectors.runtimes import Runtimes
from services.stacks.rules import Rules
from shared.contracts.detect import Definition


def build_registry(
    rules: Rules, mode: str, definitions: Sequence[Definition] = (), asking: Sequence[Detector] = ()
) -> Registry:
    """``static`` leaves out the detectors that ask, ``llm_only`` everything else."""
    own: list[Detector] = [Definitions(it, rules) for it in definitions]
    ruled: list[Detector] = [
        JavaScriptManagers(rules),
        PythonManagers(rules),
        BuildSystems(rules),
        PackageManagers(rules),
        Languages(rules),
        Frameworks(rules),
        Runtimes(rules),
        Orchestrators(rules),
    ]
    if mode == "llm_only":
        return Registry(asking, rules)
    if mode == "static":
        return Registry([*own, *ruled], rules)
    return Registry([*own, *ruled, *asking], rules)
