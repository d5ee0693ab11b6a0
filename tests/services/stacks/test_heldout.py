"""Projects that no bound was set on: frameworks with their confidence, commands, ports and stores."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.services.stacks.projects.heldout import Project, first_set
from tests.services.stacks.projects.heldout_second import second_set
from tests.services.stacks.trees import detected, service


@pytest.mark.parametrize("draw", [first_set, second_set])
def test_projects_that_no_bound_was_set_on(draw: Callable[[int], list[Project]]) -> None:
    sure: list[bool] = []
    wrong: list[str] = []
    projects = draw(160)
    for project in projects:
        one = service(detected(project.files))
        best = next((c for c in one.candidates if (c.kind, c.id) == ("framework", one.primary.framework)), None)
        right = (best.id if best else None) == project.framework
        if best is not None and best.confidence >= 0.95:
            sure.append(right)
        if project.framework is not None and not right:
            wrong.append(f"{project.name}: {one.primary.framework}")
        if project.command is not None and tuple(one.runtime.command) != project.command:
            wrong.append(f"{project.name}: {one.runtime.command}")
        if project.ports is not None and tuple(one.runtime.ports) != project.ports:
            wrong.append(f"{project.name}: {one.runtime.ports}")
        if {used.id for used in one.backing_services} != project.uses:
            wrong.append(f"{project.name}: {one.backing_services}")
    assert len(sure) > len(projects) / 2
    assert sum(sure) >= 0.95 * len(sure)
    assert len(wrong) <= 0.02 * len(projects), wrong
