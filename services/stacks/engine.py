"""The phases: scan, workspace structure, root cache, service analysis, assemble. None of them knows of models."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from services.stacks.detectors.definitions import add_packages
from services.stacks.detectors.registry import Detector, build_detectors
from services.stacks.findings.collect import findings
from services.stacks.linguist.tables import Tables, load_tables
from services.stacks.locks.collect import lock_files
from services.stacks.packages.discovery import find_packages
from services.stacks.packages.survey import Survey
from services.stacks.phases.assemble import assemble
from services.stacks.rules.loading import load_rules
from services.stacks.rules.technologies import PREFIXES, TechnologyRules
from services.stacks.scan.scanner import Scanner
from services.stacks.tree import Tree
from shared.contracts.detect import Definition, DetectResult
from shared.errors import InvalidRequest


@dataclass(frozen=True)
class DetectOptions:
    mode: str = "static"
    root: str = ""
    disable: Collection[str] = ()
    definitions: Sequence[Definition] = ()
    llm: Sequence[Detector] = ()  #: the detectors that call a model; they come last


@dataclass(frozen=True)
class StackEngine:
    """Detection with one rule set; made once, used for every tree."""

    rules: TechnologyRules = field(default_factory=load_rules)
    tables: Tables = field(default_factory=load_tables)
    scanner: Scanner = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scanner", Scanner(self.tables))

    def detect(self, tree: Tree, options: DetectOptions = DetectOptions()) -> tuple[DetectResult, list[str]]:
        """Return the result, and the warnings about the source.

        Raises: InvalidRequest when ``root`` is not a folder of the tree; what a detector that calls a model raises.
        """
        began = time.perf_counter()
        root = "/".join(part for part in options.root.split("/") if part not in {"", "."})
        if root not in tree.folders:
            raise InvalidRequest(f"the source has no folder {root}", [(["input", "root"], "no such folder")])
        scan = self.scanner.scan(tree, root)
        survey = Survey(scan, find_packages(scan))
        add_packages(survey, list(options.definitions))
        detectors = build_detectors(self.rules, options.mode, options.definitions, options.llm)
        disabled = self._disabled(options.disable, survey)
        for detector in detectors:
            for package, finding in list(detector.detect(survey)):
                if (finding.kind, finding.id) not in disabled and f"user.{finding.id}" not in options.disable:
                    package.add(finding)
        result = assemble(survey, self.rules)
        result.locks = lock_files(survey)
        result.findings = findings(survey, result)
        result.stats.seconds = round(time.perf_counter() - began, 6)
        warnings = list(dict.fromkeys([*scan.warnings, *survey.warnings]))
        survey.release()
        return result, warnings

    def _disabled(self, names: Collection[str], survey: Survey) -> set[tuple[str, str]]:
        """Rule ids (``fw.express``), or ids of technologies for all their rules."""
        disabled: set[tuple[str, str]] = set()
        prefixes = {prefix: kind for kind, prefix in PREFIXES.items()}
        for name in names:
            prefix, dot, id = name.partition(".")
            if dot and prefix in prefixes:
                mine = {(prefixes[prefix], id)}
            else:
                mine = {key for key in self.rules.technologies if key[1] == name}
            if not any(key in self.rules.technologies for key in mine) and not name.startswith("user."):
                survey.warnings.append(f"there is no rule {name} to disable")
            disabled |= mine
        return disabled
