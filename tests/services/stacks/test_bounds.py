"""Trees that are written to cost much: without bounds each of them would not end, or not fit into memory."""

from __future__ import annotations

import io
import lzma
import os
import time
import zlib
from pathlib import Path

import pytest

from services.stacks.packages.discovery import find_packages
from services.stacks.scan.scanner import Scanner
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.local import open_folder
from services.stacks.tree import Tree
from shared.errors import SourceTooLarge, SourceUnreadable
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


@pytest.mark.parametrize(
    "glob",
    ["p" + "{a,b}" * 26, "p" + "{a,b}" * 40, "{" * 200 + "a,b" + "}" * 200, "{a,{b,{c,d}}}" * 20,
     "{" + ",".join(map(str, range(300))) + "}" + "{x,y,z}" * 20],
    ids=["26 groups", "40 groups", "nested 200 deep", "nested side by side", "wide and deep"],
)  # fmt: skip
@pytest.mark.parametrize("manifest", ["package.json", "pnpm-workspace.yaml", "Cargo.toml", "lerna.json", "melos.yaml"])
def test_braces_of_a_workspace_are_expanded_under_a_budget(glob: str, manifest: str) -> None:
    texts = {
        "package.json": {"name": "a", "workspaces": [glob]},
        "pnpm-workspace.yaml": f"packages:\n  - '{glob}'\n",
        "Cargo.toml": f'[workspace]\nmembers = ["{glob}"]\n',
        "lerna.json": {"packages": [glob]},
        "melos.yaml": f"packages:\n  - '{glob}'\n",
    }
    files = {"go.mod": "module a\n", "p/package.json": {"name": "p"}, manifest: texts[manifest]}
    began = time.process_time()
    result, warnings = engine().detect(tree_of(files))
    assert time.process_time() - began < 5
    assert result.services
    if glob.startswith("{" * 200):
        assert warnings == []
    else:
        assert warnings == [".: only the first 1000 patterns of the workspace were followed"]


def test_patterns_and_folders_are_compared_under_a_budget() -> None:
    files: dict[str, object] = {f"d{n}/package.json": {} for n in range(8000)}
    files["package.json"] = {"workspaces": [f"*{n}*x" for n in range(1000)]}
    began = time.process_time()
    _, warnings = engine().detect(tree_of(files))
    assert time.process_time() - began < 30
    assert warnings == ["the workspace has too many patterns: not all members are listed"]


def test_nested_braces_of_a_workspace_are_all_followed() -> None:
    files = {f"{path}/package.json": {"name": path} for path in ("apps/a", "apps/b1", "apps/b2", "libs/c")}
    workspace = detected({"package.json": {"workspaces": ["apps/{a,b{1,2}}", "!apps/{b1,x}"]}, **files}).workspace
    assert workspace is not None
    assert workspace.members == ["apps/a", "apps/b2"]


ALIASES = "".join(f"{a}: &{a} [{','.join([f'*{b}'] * 9)}]\n" for b, a in zip("abcdefghi", "bcdefghij", strict=True))
BOMB = "a: &a [" + ",".join("x" * 9) + "]\n" + ALIASES


@pytest.mark.parametrize(
    ("name", "tail"),
    [("pnpm-workspace.yaml", "packages: *j\n"), ("melos.yaml", "packages: *j\n"), ("stack.yaml", "packages: *j\n"),
     ("compose.yaml", "services: *j\n"), ("pubspec.yaml", "dependencies: *j\n"), ("render.yaml", "services: *j\n")]
)  # fmt: skip
def test_yaml_that_its_aliases_blow_up_is_named_wherever_it_is_read(name: str, tail: str) -> None:
    files = {"package.json": {"name": "a", "dependencies": {"express": "4"}}, name: BOMB + tail}
    result, warnings = engine().detect(tree_of(files))
    told = [*warnings, *(warning for service in result.services for warning in service.warnings)]
    assert [warning for warning in told if name in warning and "more than 100,000 values" in warning], told


def test_scripts_that_apply_all_those_before_them_do_not_double() -> None:
    files = {
        f"s{n}.gradle": "\n".join(f"apply from: 's{m}.gradle'" for m in range(n))
        + f"\ndependencies {{ implementation 'io.javalin:javalin{n}:6' }}\n"
        for n in range(40)
    }
    files["build.gradle"] = "\n".join(f"apply from: 's{n}.gradle'" for n in range(40))
    began = time.process_time()
    _, warnings = engine().detect(tree_of({**files, "src/main/java/A.java": "class A {}\n"}))
    assert time.process_time() - began < 20
    assert warnings == ["the manifests take more than 500,000 dependencies from others: the rest is left out"]


def test_requirement_files_that_every_package_includes_are_read_once_and_counted() -> None:
    long = "\n".join(f"p{n}==1" for n in range(20_000))
    files = {f"a{n}/requirements.txt": "-r ../long.txt\nflask\n" for n in range(100)} | {"long.txt": long}
    began = time.process_time()
    result, warnings = engine().detect(tree_of({**files, **{f"a{n}/x.py": "1\n" for n in range(100)}}))
    assert time.process_time() - began < 20
    assert len(result.services) == 100
    assert warnings == ["the manifests take more than 500,000 dependencies from others: the rest is left out"]


def test_a_parent_with_thousands_of_dependencies_is_inherited_under_a_budget() -> None:
    many = "".join(f"<dependency><groupId>g</groupId><artifactId>a{n}</artifactId></dependency>" for n in range(20_000))
    files = {f"m{n}/pom.xml": f"<project><parent/><artifactId>m{n}</artifactId></project>" for n in range(100)}
    files["pom.xml"] = f"<project><artifactId>p</artifactId><dependencies>{many}</dependencies></project>"
    began = time.process_time()
    result, warnings = engine().detect(tree_of(files))
    assert time.process_time() - began < 20
    assert len(result.services) == 101
    assert warnings == ["the manifests take more than 500,000 dependencies from others: the rest is left out"]


def test_the_modules_of_reactors_are_followed_under_a_budget() -> None:
    pom = "<project><artifactId>p</artifactId><modules><module>{}</module></modules></project>"
    files = {f"p{n:04}/pom.xml": pom.format(f"../p{n - 1:04}") for n in range(1500)}
    began = time.process_time()
    result, warnings = engine().detect(tree_of(files))
    assert time.process_time() - began < 30
    assert len(result.services) == 1500
    assert warnings == ["only the first 100,000 modules of the reactors were followed"]


@pytest.mark.parametrize("body", ["a\0", "{}\n" * 500 + "\0"], ids=["at once", "late"])
@pytest.mark.parametrize(
    "name", ["package.json", "go.mod", "requirements.txt", "build.gradle", "Cargo.toml", "pom.xml"]
)
def test_a_nul_in_a_manifest_is_named_with_its_line(name: str, body: str) -> None:
    detected_service = service(detected({name: body, "a.py": "1\n"}))
    line = body.count("\n") + 1
    assert detected_service.warnings == [f"{name}:{line}: holds a NUL character, so it is not text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_folder_that_may_not_be_listed_is_unreadable(tmp_path: Path) -> None:
    for folder in (tmp_path / "closed", tmp_path / "closed" / "inner"):
        folder.mkdir()
    os.chmod(tmp_path, 0o755)
    os.chmod(tmp_path / "closed", 0o700)
    child = os.fork()
    if not child:
        os.setuid(65534)
        faults = 0
        for folder in (tmp_path / "closed", tmp_path / "closed" / "inner"):
            try:
                open_folder(folder, 1000)
            except SourceUnreadable:
                faults += 1
            except BaseException:
                os._exit(99)
        os._exit(faults)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_a_file_in_place_of_a_folder_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "missing", tmp_path / "a\0b"):
        with pytest.raises(SourceUnreadable):
            open_folder(path, 1000)


def test_what_is_left_of_too_many_manifests_is_told() -> None:
    files = {f"{name}/go.mod": f"module {name}\n" for name in "abcde"}
    scan = Scanner(engine().tables, most_manifests=3).scan(tree_of(files))
    assert list(find_packages(scan)) == ["a", "b", "c"]
    assert scan.warnings == ["the source holds 5 manifests: the last 2 were not read"]


def test_of_too_many_packages_the_nearest_are_told() -> None:
    scan = Scanner(engine().tables).scan(tree_of({f"{path}/go.mod": "module m\n" for path in ("a/b", "a/c", "d", "e")}))
    assert list(find_packages(scan, most=3)) == ["a/b", "d", "e"]
    assert scan.warnings == ["the source holds 4 packages: only the 3 nearest to its root are reported"]


@pytest.mark.parametrize("body", ["[" * 50_000, "a: " + "{" * 50_000, "a: " + "[{" * 20_000])
def test_yaml_that_is_only_brackets_is_named_and_not_read(body: str) -> None:
    detected_service = service(detected({"pubspec.yaml": body, "lib/a.dart": "1\n"}))
    assert detected_service.warnings == ["pubspec.yaml: not valid YAML (nested too deeply)"]


def test_toml_whose_keys_have_endless_parts_is_named_and_not_read() -> None:
    detected_service = service(
        detected({"pyproject.toml": "[project]\nname = 'x'\n" + "a." * 6000 + "a = 1\n", "a.py": "1\n"})
    )
    assert detected_service.warnings == ["pyproject.toml:3: not valid TOML (a key with too many parts)"]


#: Texts that are all one thing, over and over, so that a pattern which checks each of them twice would never end.
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
