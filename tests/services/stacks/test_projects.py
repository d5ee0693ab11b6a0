"""Every small project is detected right, on every axis that it is about."""

from __future__ import annotations

import pytest

from tests.services.stacks.projects import (
    awkward,
    javascript,
    jvm_dotnet,
    monorepos,
    native_and_others,
    negatives,
    python,
    scaffolds,
)
from tests.services.stacks.projects.case import Case
from tests.services.stacks.projects.texts import read_projects
from tests.services.stacks.trees import Files, candidate, detected, service

#: Projects written down as text: one file for each axis.
TEXTS = (
    "frameworks_web",
    "frameworks_wider",
    "native_ui",
    "serverless",
    "sites",
    "tools",
    "backing",
    "data_and_charts",
    "odd_programs",
    "strangers",
    "strangers_more",
)
CASES = [
    *javascript.CASES,
    *python.CASES,
    *jvm_dotnet.CASES,
    *native_and_others.CASES,
    *monorepos.CASES,
    *awkward.CASES,
    *scaffolds.CASES,
    *(case for name in TEXTS for case in read_projects(name)),
]


def test_there_are_at_least_six_hundred_projects() -> None:
    assert len({case.name for case in [*CASES, *negatives.EMPTY]}) >= 600


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_project(case: Case) -> None:
    result = detected(case.files)
    detected_service = service(result, case.at)
    said = {
        "language": (case.language, detected_service.primary.language),
        "build": (case.build, detected_service.primary.build_system),
        "framework": (case.framework, detected_service.primary.framework),
        "runtime": (case.runtime, detected_service.primary.runtime),
        "manager": (case.manager, detected_service.primary.package_manager),
        "role": (case.role, detected_service.role),
        "orchestrator": (case.orchestrator, result.orchestrator),
        "health": (case.health, detected_service.runtime.health.endpoint if detected_service.runtime.health else None),
    }
    assert {key: got for key, (wanted, got) in said.items() if wanted != "-"} == {
        key: wanted for key, (wanted, _) in said.items() if wanted != "-"
    }
    for kind, id in case.candidates:
        assert candidate(detected_service, kind, id) is not None, (kind, id)
    for kind, id in case.absent:
        assert candidate(detected_service, kind, id) is None, (kind, id)
    versions = {trail.runtime: trail.value for trail in detected_service.versions}
    assert {runtime: versions.get(runtime) for runtime in case.versions} == dict(case.versions)
    if case.ports is not None:
        assert tuple(detected_service.runtime.ports) == case.ports
    if case.command is not None:
        assert " ".join(detected_service.runtime.command) == case.command
    if case.origin is not None:
        start = detected_service.runtime.trail.command
        assert start is not None
        assert start.source == case.origin
    if case.commands is not None:
        assert tuple(detected_service.build.commands) == case.commands
    if case.paths is not None:
        assert tuple(service.path for service in result.services) == case.paths
    if case.workspace is not None:
        assert result.workspace is not None
        assert (result.workspace.manager, tuple(result.workspace.members)) == case.workspace
    assert set(case.env) <= set(detected_service.runtime.env)
    if case.uses is not None:
        assert {used.id for used in detected_service.backing_services} == set(case.uses)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_evidence_is_a_file_and_a_line_of_the_project(case: Case) -> None:
    for detected_service in detected(case.files).services:
        for one in detected_service.candidates:
            assert one.evidence, one.id
            for proof in one.evidence:
                assert proof.file in case.files, proof
                if proof.line is not None:
                    content = case.files[proof.file]
                    text = content if isinstance(content, str) else None
                    assert text is None or 1 <= proof.line <= text.count("\n") + 1
                    assert text is None or proof.snippet is None or proof.snippet[:20] in text


@pytest.mark.parametrize(("files", "path", "kind", "id", "version"), awkward.ELSEWHERE)
def test_a_version_may_stand_in_another_file(files: Files, path: str, kind: str, id: str, version: str) -> None:
    proven = candidate(service(detected(files), path), kind, id)
    assert proven is not None
    assert proven.version == version


@pytest.mark.parametrize(("files", "kind", "id", "version"), scaffolds.VERSIONS)
def test_a_version_is_that_of_the_technology_itself(files: Files, kind: str, id: str, version: str | None) -> None:
    proven = candidate(service(detected(files)), kind, id)
    assert proven is not None
    assert proven.version == version


@pytest.mark.parametrize("case", negatives.EMPTY, ids=lambda case: case.name)
def test_nothing_is_found_where_nothing_is(case: Case) -> None:
    result = detected(case.files)
    assert result.services == []
    assert result.workspace is None
    assert result.orchestrator is None
