"""The engine's promises: order, roots, disabled rules, definitions, broken input."""

from __future__ import annotations

import pytest

from services.stacks.engine import DetectOptions
from services.stacks.phases.assemble import canonical
from shared.contracts.detect import Definition
from shared.errors import InvalidRequest
from tests.services.stacks.projects.monorepos import CASES
from tests.services.stacks.trees import candidate, detected, engine, service, tree_of, warned

WEB = {"package.json": {"name": "web", "dependencies": {"next": "14", "express": "4"}}, "app/page.js": "1\n"}


def test_the_same_tree_gives_the_same_bytes_whatever_the_order_of_its_files() -> None:
    for case in CASES:
        backwards = dict(reversed(list(case.files.items())))
        assert canonical(detected(case.files)) == canonical(detected(backwards)), case.name


def test_evidence_names_file_line_rule_and_snippet() -> None:
    proven = candidate(service(detected(WEB)), "framework", "nextjs")
    assert proven is not None
    assert proven.evidence[0].model_dump() == {
        "file": "package.json",
        "line": 4,
        "rule": "fw.nextjs",
        "snippet": '"next": "14",',
    }


def test_secrets_do_not_stand_in_snippets() -> None:
    files = {"package.json": '{"dependencies": {"express": "4"}, "token": "abc123secret"}'}
    assert "abc123secret" not in str(detected(files).model_dump())


@pytest.mark.parametrize("rule", ["fw.nextjs", "nextjs"])
def test_a_disabled_rule_is_not_asked(rule: str) -> None:
    detected_service = service(detected(WEB, disable=[rule]))
    assert candidate(detected_service, "framework", "nextjs") is None
    assert detected_service.primary.framework == "express"


def test_disabling_an_unknown_rule_is_told() -> None:
    assert warned(WEB, disable=["fw.nonsense"]) == ["there is no rule fw.nonsense to disable"]


def test_a_root_narrows_the_services_but_keeps_what_is_inherited() -> None:
    files = {
        **WEB,
        "pnpm-lock.yaml": "x: 1\n",
        ".nvmrc": "20\n",
        "apps/api/package.json": {"dependencies": {"koa": "2"}},
        "apps/api/i.js": "1\n",
    }
    result = detected(files, root="apps/api")
    assert [service.path for service in result.services] == ["apps/api"]
    assert result.services[0].primary.build_system == "pnpm"
    assert result.services[0].versions[0].value == "20"
    assert result.services[0].candidates[0].evidence[0].file.startswith("apps/api/")
    assert result.stats.files == 2


@pytest.mark.parametrize("root", ["apps/api/", "./apps/api", "/apps/api"])
def test_a_root_may_be_written_in_several_ways(root: str) -> None:
    files = {"apps/api/package.json": {"name": "a"}}
    assert detected(files, root=root).services[0].path == "apps/api"


def test_a_root_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InvalidRequest, match="no folder nowhere"):
        detected(WEB, root="nowhere")


def define(**fields: object) -> Definition:
    return Definition.model_validate(
        {"id": "blorb", "kind": "build_system", "name": "Blorb", "files": ["Blorbfile"], **fields}
    )


def test_a_definition_makes_a_package_of_its_own() -> None:
    result = detected({"tools/x/Blorbfile": "x\n"}, definitions=[define()])
    detected_service = service(result, "tools/x")
    assert detected_service.primary.build_system == "blorb"
    proven = candidate(detected_service, "build_system", "blorb")
    assert proven is not None
    assert (proven.custom, proven.source, proven.confidence, proven.evidence[0].file) == (
        True,
        "user",
        0.9,
        "tools/x/Blorbfile",
    )


def test_a_definition_by_dependency_stands_over_the_rules() -> None:
    own = define(
        id="inhouse",
        kind="framework",
        name="In-house",
        files=[],
        dependencies=[{"ecosystem": "npm", "name": "@acme/core"}],
    )
    files = {"package.json": {"dependencies": {"express": "4", "@acme/core": "1"}}, "i.js": "1\n"}
    detected_service = service(detected(files, definitions=[own]))
    assert detected_service.primary.framework == "inhouse"
    assert candidate(detected_service, "framework", "express") is not None


def test_a_definition_by_glob_stands_within_the_package_around_it() -> None:
    own = define(id="foo", kind="language", name="Foo", files=["*.foo"], weight=0.7)
    files = {"package.json": {"name": "a"}, "i.js": "1\n", "src/a.foo": "x\n"}
    detected_service = service(detected(files, definitions=[own]))
    proven = candidate(detected_service, "language", "foo")
    assert proven is not None
    assert (proven.confidence, proven.evidence[0].file) == (0.7, "src/a.foo")


@pytest.mark.parametrize(
    ("path", "text", "where"),
    [
        ("package.json", '{\n  "name": "a",\n  oops\n}', "package.json:3"),
        ("Cargo.toml", '[package]\nname = "a"\nversion = \n', "Cargo.toml:3"),
        ("pyproject.toml", "[project\n", "pyproject.toml:1"),
        ("pom.xml", "<project>\n<a>\n</project>", "pom.xml:3"),
        ("pubspec.yaml", "name: a\n  b: [\n", "pubspec.yaml"),
        ("setup.cfg", "no section\n", "setup.cfg:1"),
        ("composer.json", "[]", "composer.json:1"),
        ("Web.csproj", "<Project>\n<X", "Web.csproj:2"),
    ],
)
def test_a_broken_manifest_is_told_with_its_line_and_the_rest_goes_on(path: str, text: str, where: str) -> None:
    result = detected({path: text, "other/go.mod": "module x\n", "other/main.go": "package main\n"})
    assert [service.path for service in result.services] == ["", "other"]
    assert any(warning.startswith(where) for warning in service(result).warnings), service(result).warnings
    assert service(result, "other").primary.language == "go"


def test_xml_with_entities_is_refused() -> None:
    bomb = '<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<project><artifactId>&b;</artifactId></project>'
    assert "entities" in service(detected({"pom.xml": bomb})).warnings[0]


def test_deep_json_is_a_broken_manifest() -> None:
    assert service(detected({"package.json": '{"a":' * 5000 + "1" + "}" * 5000})).warnings


def test_deep_toml_is_a_broken_manifest() -> None:
    assert service(detected({"Cargo.toml": "a = " + "[" * 5000})).warnings


def test_manifests_may_hold_anything_anywhere() -> None:
    odd = {
        "dependencies": ["x"],
        "scripts": 3,
        "engines": "x",
        "workspaces": {"packages": 4},
        "packageManager": 7,
        "bin": None,
        "name": 3,
    }
    assert service(detected({"package.json": odd})).primary.build_system == "npm"
    toml = '[project]\nname = "a"\ndependencies = "x"\n[tool]\npoetry = 3\n[tool.uv]\nworkspace = 1\n'
    assert service(detected({"pyproject.toml": toml})).primary.language == "python"


def test_an_unknown_definition_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        define(kind="colour")


def test_static_asks_nobody_even_with_detectors_that_ask() -> None:
    result, _ = engine().detect(tree_of(WEB), DetectOptions(mode="static"))
    assert result.stats.llm_calls == 0
