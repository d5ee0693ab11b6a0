"""Manifests of tools that others have replaced."""

from __future__ import annotations

import pytest

from services.stacks.manifests.kinds import kind_of, parse
from services.stacks.manifests.model import Manifest
from tests.services.stacks.trees import tree_of


def read(path: str, text: str) -> Manifest:
    kind = kind_of(path.rpartition("/")[2])
    assert kind is not None
    return parse(tree_of({path: text}), path, kind)


@pytest.mark.parametrize(
    ("path", "text", "dependencies"),
    [
        ("Gopkg.toml", '[[constraint]]\n  name = "github.com/x/y"\n  version = "1.2"\n[[override]]\n  name = "github.com/z/w"\n  branch = "main"\n', {("go", "github.com/x/y", "1.2", "prod", 2), ("go", "github.com/z/w", "main", "prod", 5)}),
        ("glide.yaml", "package: a\nimport:\n- package: github.com/x/y\n  version: ^1\ntestImport:\n- package: github.com/z/w\n", {("go", "github.com/x/y", "^1", "prod", 3), ("go", "github.com/z/w", None, "test", 6)}),
        ("Godeps/Godeps.json", '{"ImportPath": "a", "Deps": [\n{"ImportPath": "github.com/x/y", "Comment": "v1"}]}', {("go", "github.com/x/y", "v1", "prod", 2)}),
        ("vendor/vendor.json", '{"rootPath": "a", "package": [{"path": "github.com/x/y"}]}', {("go", "github.com/x/y", None, "prod", 1)}),
        ("bower.json", '{"dependencies": {"angular": "1.8"},\n"devDependencies": {"mocha": "*"}}', {("npm", "angular", "1.8", "prod", 1), ("npm", "mocha", "*", "dev", 2)}),
        ("elm-package.json", '{"dependencies": {"elm-lang/html": "2.0.0 <= v < 3.0.0"}}', {("elm", "elm-lang/html", "2.0.0 <= v < 3.0.0", "prod", 1)}),
        ("ivy.xml", '<ivy-module><info module="a"/><dependencies>\n<dependency org="junit" name="junit" rev="4" conf="test->default"/></dependencies></ivy-module>', {("maven", "junit:junit", "4", "test", 2)}),
        ("buildout.cfg", "[instance]\neggs =\n    Plone_Site\n    Pillow\nzcml =\n    other\n", {("pypi", "plone-site", None, "prod", 3), ("pypi", "pillow", None, "prod", 4)}),
    ],
)  # fmt: skip
def test_each_tells_its_dependencies_with_version_scope_and_line(
    path: str, text: str, dependencies: set[tuple[str, str, str | None, str, int]]
) -> None:
    manifest = read(path, text)
    assert manifest.problems == []
    told = {(one.ecosystem, one.name, one.version, one.scope, one.line) for one in manifest.dependencies}
    assert told == dependencies


@pytest.mark.parametrize(
    ("path", "text", "name", "statements"),
    [
        ("Godeps/Godeps.json", '{"ImportPath": "example.com/a",\n"GoVersion": "go1.4"}', "example.com/a", [("go", "1.4", 2)]),
        ("elm-package.json", '{\n"elm-version": "0.18.0 <= v < 0.19.0"}', None, [("elm", "0.18.0", 2)]),
        ("build.xml", '<project name="shop">\n<javac source="1.7" srcdir="src"/></project>', "shop", [("java", "1.7", 2)]),
        ("native/App.vcxproj", "<Project><PropertyGroup><LanguageStandard>stdcpp20</LanguageStandard></PropertyGroup></Project>", "App", [("c++", "20", None)]),
    ],
)  # fmt: skip
def test_names_and_versions_are_told(
    path: str, text: str, name: str | None, statements: list[tuple[str, str, int | None]]
) -> None:
    manifest = read(path, text)
    assert manifest.name == name
    assert [(one.runtime, one.value, one.line) for one in manifest.statements] == statements


@pytest.mark.parametrize(
    ("path", "text", "executable"),
    [
        ("build.xml", '<project name="a"><java classname="A"/></project>', "yes"),
        ("build.xml", '<project name="a"><jar/></project>', None),
        ("a/App.vcxproj", "<Project><PropertyGroup><ConfigurationType>Application</ConfigurationType></PropertyGroup></Project>", "App"),
        ("a/Lib.vcxproj", "<Project><PropertyGroup><ConfigurationType>StaticLibrary</ConfigurationType></PropertyGroup></Project>", None),
        ("a/draw.pro", "QT += widgets\n", "draw"),
        ("a/draw.pro", "TEMPLATE = lib\nTARGET = paint\n", None),
    ],
)  # fmt: skip
def test_a_program_is_told_from_a_library(path: str, text: str, executable: str | None) -> None:
    assert read(path, text).facts.get("executable") == executable


def test_a_qmake_file_that_only_lists_others_makes_no_package() -> None:
    assert not read("all.pro", "TEMPLATE = subdirs\nSUBDIRS = a b\n").package
    assert read("a.pro", "SOURCES = a.cpp\n").package


@pytest.mark.parametrize("path", ["Gopkg.toml", "glide.yaml", "Godeps/Godeps.json", "bower.json", "ivy.xml"])
def test_a_broken_one_is_a_problem_with_its_place(path: str) -> None:
    manifest = read(path, "{[<: \t")
    assert len(manifest.problems) == 1
    assert manifest.problems[0].startswith(path)
    assert manifest.dependencies == []


@pytest.mark.parametrize("path", ["Godeps/Godeps.json", "bower.json", "glide.yaml", "elm-package.json"])
def test_values_of_other_types_are_passed_over(path: str) -> None:
    text = '{"Deps": 7, "package": {"a": 1}, "import": "x", "dependencies": [1], "elm-version": 3, "devDependencies": null}'
    assert read(path, text).dependencies == []
