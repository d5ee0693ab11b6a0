"""Trees that are written to cost much: what each of them asked for would not end, or not fit into memory."""

from __future__ import annotations

import io
import lzma
import time
import zlib

import pytest

from services.stacks.packages.discovery import find_packages
from services.stacks.scan.scanner import Scanner
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from services.stacks.tree import Tree
from shared.errors import SourceTooLarge
from tests.services.stacks.archives import tar
from tests.services.stacks.trees import detected, engine, service, tree_of

POM = (
    "<project><artifactId>p{0}</artifactId><parent><relativePath>../p{1}/pom.xml</relativePath></parent>"
    "<modules><module>../p{1}</module><module>../p{2}</module></modules><dependencies><dependency>"
    "<groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId><version>3.{0}</version>"
    "</dependency></dependencies></project>"
)


def opened(body: bytes, limits: SourceLimits | None = None) -> Tree:
    return open_archive(io.BytesIO(body), ArchiveSelector(engine().tables), limits or SourceLimits())


def test_a_circle_of_parents_is_inherited_from_once() -> None:
    files = {f"p{n:02}/pom.xml": POM.format(n, f"{(n + 1) % 60:02}", f"{(n + 7) % 60:02}") for n in range(60)}
    packages = find_packages(Scanner(engine().tables).scan(tree_of(files)))
    assert len(packages) == 60
    assert all(len(manifest.dependencies) < 200 for package in packages.values() for manifest in package.manifests)
    result = detected(files)
    assert {service.primary.framework for service in result.services} == {"spring-boot"}
    assert result.workspace is not None
    assert len(result.workspace.members) == 59


def test_what_every_level_of_a_build_declares_for_those_below_does_not_double() -> None:
    build = 'plugins { id("java") }\nsubprojects { dependencies { implementation("io.javalin:javalin:6.1.3") } }\n'
    files = {"/".join(["n"] * depth + ["build.gradle.kts"]): build for depth in range(40)}
    packages = find_packages(Scanner(engine().tables).scan(tree_of(files)))
    assert max(len(manifest.dependencies) for package in packages.values() for manifest in package.manifests) < 500


def test_properties_made_of_properties_stay_short() -> None:
    many = "".join(f"<p{n}>{f'${{p{n + 1}}}' * 200}</p{n}>" for n in range(3))
    pom = (
        f"<project><artifactId>a</artifactId><properties>{many}<p3>{'x' * 5000}</p3></properties><dependencies><dependency>"
        "<groupId>io.javalin</groupId><artifactId>javalin</artifactId><version>${p0}</version></dependency></dependencies></project>"
    )
    packages = find_packages(Scanner(engine().tables).scan(tree_of({"pom.xml": pom})))
    assert [len(dependency.version or "") <= 500 for dependency in packages[""].manifests[0].dependencies] == [True]


def test_a_path_that_no_system_can_hold_is_skipped_and_named() -> None:
    deep, long = "/".join(["d"] * 3000) + "/package.json", "x" * 5000 + "/package.json"
    result, warnings = engine().detect(opened(tar({deep: "{}", long: "{}", "go.mod": "module x\n"})))
    assert [service.path for service in result.services] == [""]
    assert len(warnings) == 1
    assert warnings[0].startswith("skipped 2 unsafe archive entries with a path that is too long: d/d/d")
    assert len(warnings[0]) < 500


def test_folders_count_as_files_do() -> None:
    body = tar({f"{n}/" + "/".join(["d"] * 50) + "/x": "" for n in range(10)})
    with pytest.raises(SourceTooLarge, match="files and folders"):
        opened(body, SourceLimits(entries=400))
    assert len(opened(body, SourceLimits(entries=600)).folders) == 511


def test_all_the_names_together_are_bounded() -> None:
    with pytest.raises(SourceTooLarge, match="names of the files"):
        opened(tar({f"{'n' * 2000}{number}": "" for number in range(20)}), SourceLimits(names_bytes=30_000))


def test_an_archive_does_not_say_how_much_memory_it_gets() -> None:
    body = bytearray(lzma.compress(tar({"go.mod": "module x\n"})))
    length = (body[12] + 1) * 4  # of the first block's header, whose last byte of settings is the dictionary's size
    assert body[14:16] == b"\x21\x01"
    body[16] = 40
    body[8 + length : 12 + length] = zlib.crc32(body[12 : 8 + length]).to_bytes(4, "little")
    with pytest.raises(SourceTooLarge, match="memory to unpack"):
        opened(bytes(body))


def test_xz_streams_may_follow_each_other() -> None:
    body = tar({"go.mod": "module x\n", "main.go": "package main\n"})
    packed = lzma.compress(body[:700]) + b"\0" * 8 + lzma.compress(body[700:]) + b"\0" * 4
    assert service(engine().detect(opened(packed))[0]).primary.language == "go"


def test_a_workspace_with_endless_patterns_says_that_it_was_cut() -> None:
    files = {"package.json": {"workspaces": [*(f"a*{n}*" for n in range(1500)), "b/*"]}, "b/c/package.json": {}}
    result, warnings = engine().detect(tree_of(files))
    assert result.workspace is None
    assert warnings == [".: only the first 1000 patterns of the workspace were followed"]


def test_what_is_left_of_too_many_manifests_is_told() -> None:
    files = {f"{name}/go.mod": f"module {name}\n" for name in "abcde"}
    scan = Scanner(engine().tables, most_manifests=3).scan(tree_of(files))
    assert list(find_packages(scan)) == ["a", "b", "c"]
    assert scan.warnings == ["the source holds 5 manifests: the last 2 were not read"]


def test_of_too_many_packages_the_nearest_are_told() -> None:
    scan = Scanner(engine().tables).scan(tree_of({f"{path}/go.mod": "module m\n" for path in ("a/b", "a/c", "d", "e")}))
    assert list(find_packages(scan, most=3)) == ["a/b", "d", "e"]
    assert scan.warnings == ["the source holds 4 packages: only the 3 nearest to its root are told"]


@pytest.mark.parametrize("body", ["[" * 50_000, "a: " + "{" * 50_000, "a: " + "[{" * 20_000])
def test_yaml_that_is_only_brackets_is_named_and_not_read(body: str) -> None:
    detected_service = service(detected({"pubspec.yaml": body, "lib/a.dart": "1\n"}))
    assert detected_service.warnings == ["pubspec.yaml: not valid YAML (nested too deeply)"]


def test_toml_whose_keys_have_endless_parts_is_named_and_not_read() -> None:
    detected_service = service(
        detected({"pyproject.toml": "[project]\nname = 'x'\n" + "a." * 6000 + "a = 1\n", "a.py": "1\n"})
    )
    assert detected_service.warnings == ["pyproject.toml:3: not valid TOML (a key with too many parts)"]


#: Texts that are all one thing, over and over, so that a pattern which looks at each of them twice would never end.
ENDLESS = ("\n" * 60_000, " " * 60_000, "apply" + " " * 60_000, "<javac " * 9000, "provider:" + "\n" * 60_000, "eggs =" + "\n " * 30_000,
           "packages:" + "\n " * 30_000, "alias(" * 10_000, "id" + " " * 60_000 + "=", "import " * 9000)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    ["build.gradle", "build.xml", "buildout.cfg", "app.pro", "config.toml", "_config.yml", "template.yaml", "stack.yml", "host.json",
     "book.toml", "glide.yaml", "requirements.txt", "setup.py", "application.properties", "ProjectSettings/ProjectVersion.txt",
     "cabal.project", "prisma/schema.prisma", "Sources/App/main.swift"],
)  # fmt: skip
def test_texts_of_one_thing_over_and_over_end(name: str) -> None:
    for text in ENDLESS:
        began = time.process_time()
        found = detected(
            {name: text, "Package.swift": "// swift-tools-version:5.9\n", "package.json": "{}", "a.py": "1\n"}
        )
        assert found.services, text[:20]
        assert time.process_time() - began < 20, text[:20]
