"""Precision and recall of detection on the project's own small projects, by axis: ``python -m benchmarks.stacks_accuracy``.

These projects were written together with the rules: the figures say what is covered, not what other projects
will see. ``--misses`` lists every answer that is not the expected one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from shared.contracts.detect import Primary
from tests.services.stacks.projects.calibration import by_confidence, labeled
from tests.services.stacks.projects.case import Case
from tests.services.stacks.projects.dockerfiles import LABELED
from tests.services.stacks.projects.heldout import Project, first_set
from tests.services.stacks.projects.heldout_second import second_set
from tests.services.stacks.test_projects import CASES
from tests.services.stacks.trees import detected, service

AXES = ("language", "build", "framework", "runtime", "manager", "role", "uses")


def answers(case: Case) -> Iterator[tuple[str, str | None, str | None]]:
    """Return (axis, expected, detected) of every axis that the project is about; one for each backing service."""
    result = detected(case.files)
    service = next((service for service in result.services if service.path == case.at), None)
    primary = service.primary if service else Primary()
    by_axis = {
        "language": primary.language, "build": primary.build_system, "framework": primary.framework,
        "runtime": primary.runtime, "manager": primary.package_manager, "role": service.role if service else None,
    }  # fmt: skip
    for axis, answer in by_axis.items():
        wanted = getattr(case, axis)
        if wanted != "-":
            yield axis, wanted, answer
    if case.uses is not None:
        used = {one.id for one in service.backing_services} if service else set()
        for id in used | set(case.uses):
            yield "uses", id if id in case.uses else None, id if id in used else None


def main() -> None:
    counts: dict[str, Counter[str]] = {axis: Counter() for axis in AXES}
    for case in CASES:
        for axis, wanted, predicted in answers(case):
            counts[axis]["expected"] += wanted is not None
            counts[axis]["told"] += predicted is not None
            counts[axis]["right"] += predicted is not None and predicted == wanted
            if predicted != wanted and "--misses" in sys.argv:
                print(f"{axis:10} {wanted!s:24} told {predicted!s:24} {case.name}")
    print(
        f"{len(CASES)} projects\n{'axis':10} {'expected':>8} {'told':>6} {'right':>6} {'precision':>10} {'recall':>8}"
    )
    for axis, count in counts.items():
        precision, recall = count["right"] / max(count["told"], 1), count["right"] / max(count["expected"], 1)
        print(f"{axis:10} {count['expected']:8} {count['told']:6} {count['right']:6} {precision:10.1%} {recall:8.1%}")


def calibration() -> None:
    """Print how many framework answers of each band of confidence are right, on projects that list more than they use."""
    answers: dict[str, tuple[float, bool]] = {}
    wrong = 0
    for case in (cases := list(labeled())):
        one = service(detected(case.files), case.at)
        best = next((c for c in one.candidates if (c.kind, c.id) == ("framework", one.primary.framework)), None)
        wrong += (best.id if best else None) != case.framework
        if best is not None:
            answers[case.name] = best.confidence, best.id == case.framework
    print(
        f"\n{len(cases)} projects with several frameworks, {wrong} wrong\n{'confidence':14} {'answers':>8} {'right':>8}"
    )
    for band, count, right in by_confidence(answers):
        print(f"{band:14} {count:8} {right / count if count else 0:8.1%}")


def heldout(name: str, projects: list[Project]) -> None:
    """Print the same for projects that no bound was set on, with their commands, ports and stores."""
    answers: dict[str, tuple[float, bool]] = {}
    counts: Counter[str] = Counter()
    for project in projects:
        one = service(detected(project.files))
        best = next((c for c in one.candidates if (c.kind, c.id) == ("framework", one.primary.framework)), None)
        counts["framework"] += (best.id if best else None) == project.framework
        counts["store"] += {used.id for used in one.backing_services} == project.uses
        if project.command is not None:
            counts["answered"] += 1
            counts["command"] += tuple(one.runtime.command) == project.command
            counts["port"] += tuple(one.runtime.ports) == project.ports
        if best is not None:
            answers[project.name] = best.confidence, best.id == project.framework
    total, answered = len(projects), counts["answered"]
    print(
        f"\n{name} held-out set, {total} projects: framework {counts['framework'] / total:.1%}, "
        f"stores {counts['store'] / total:.1%}; of {answered}: commands {counts['command'] / answered:.1%}, "
        f"ports {counts['port'] / answered:.1%}\n{'confidence':14} {'answers':>8} {'right':>8}"
    )
    for band, count, right in by_confidence(answers):
        print(f"{band:14} {count:8} {right / count if count else 0:8.1%}")


def runs() -> None:
    """Print how many commands and ports of projects with Dockerfiles are right."""
    commands = ports = 0
    for case in LABELED:
        facts = service(detected(case.files), case.at).runtime
        commands += tuple(facts.command) == case.command
        ports += tuple(facts.ports) == case.ports
    print(
        f"\n{len(LABELED)} projects with Dockerfiles: commands {commands / len(LABELED):.1%}, ports {ports / len(LABELED):.1%}"
    )


if __name__ == "__main__":
    main()
    calibration()
    heldout("first", first_set())
    heldout("second", second_set())
    runs()
