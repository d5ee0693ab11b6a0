"""What Gradle's build files take from catalogs, scripts and convention plugins of the same build."""

from __future__ import annotations

from services.stacks.manifests.kinds import kind_of, parse
from services.stacks.manifests.model import Manifest
from services.stacks.packages.gradle import GradleBuilds
from services.stacks.scan.scanner import Scanner
from tests.services.stacks.trees import Files, engine, tree_of


def completed(files: Files, path: str) -> Manifest:
    """The build file at that path with all that it takes from the other files."""
    tree = tree_of(files)
    kind = kind_of(path.rpartition("/")[2])
    assert kind is not None
    manifest = parse(tree, path, kind)
    GradleBuilds(Scanner(engine().tables).scan(tree)).complete(manifest, manifest.folder)
    return manifest


def names(manifest: Manifest) -> set[tuple[str, str | None]]:
    return {(dependency.name, dependency.version) for dependency in manifest.dependencies}


CATALOG = (
    '[versions]\nktor = "2.3"\n[libraries]\nktor-core = { module = "io.ktor:ktor-server-core", version.ref = "ktor" }\n'
)


def test_the_nearest_catalog_above_gives_libraries_their_names_and_versions() -> None:
    files = {
        "gradle/libs.versions.toml": CATALOG,
        "app/build.gradle.kts": "dependencies {\n  implementation(libs.ktor.core)\n}\n",
        "old/gradle/libs.versions.toml": CATALOG.replace("2.3", "1.6"),
        "old/app/build.gradle.kts": "dependencies {\n  implementation(libs.ktor.core)\n}\n",
    }
    assert ("io.ktor:ktor-server-core", "2.3") in names(completed(files, "app/build.gradle.kts"))
    assert ("io.ktor:ktor-server-core", "1.6") in names(completed(files, "old/app/build.gradle.kts"))


def test_a_catalog_of_another_name_is_asked_by_its_own_name_only() -> None:
    files = {"gradle/tools.versions.toml": CATALOG}
    mine = {**files, "build.gradle.kts": "dependencies { implementation(tools.ktor.core) }\n"}
    other = {**files, "build.gradle.kts": "dependencies { implementation(libs.ktor.core) }\n"}
    assert ("io.ktor:ktor-server-core", "2.3") in names(completed(mine, "build.gradle.kts"))
    assert names(completed(other, "build.gradle.kts")) == set()


def test_a_script_that_is_applied_brings_its_dependencies() -> None:
    files = {
        "gradle/web.gradle": "dependencies { implementation 'io.javalin:javalin:6.1' }\n",
        "app/build.gradle": "apply from: '../gradle/web.gradle'\n",
    }
    assert ("io.javalin:javalin", "6.1") in names(completed(files, "app/build.gradle"))


def test_a_convention_plugin_is_a_script_named_after_its_package() -> None:
    files = {
        "buildSrc/src/main/kotlin/shop.service.gradle.kts": "plugins { id(\"io.quarkus\") }\ndependencies { implementation(\"a:b:1\") }\n",
        "buildSrc/src/main/kotlin/base.gradle.kts": "package org.shop\n\nplugins { id(\"org.jetbrains.kotlin.jvm\") }\n",
        "app/build.gradle.kts": "plugins {\n  id(\"shop.service\")\n  id(\"org.shop.base\")\n}\n",
    }  # fmt: skip
    manifest = completed(files, "app/build.gradle.kts")
    assert ("a:b", "1") in names(manifest)
    assert {"plugin:io.quarkus", "plugin:org.jetbrains.kotlin.jvm"} <= manifest.facts.keys()


def test_a_convention_plugin_may_be_a_registered_class() -> None:
    files = {
        "build-logic/build.gradle.kts": 'gradlePlugin { plugins { create("x") {\n id = "shop.boot"\n implementationClass = "org.shop.BootPlugin"\n} } }\n',
        "build-logic/src/main/kotlin/org/shop/BootPlugin.kt": 'class BootPlugin : Plugin<Project> { fun apply() { pluginManager.apply("org.springframework.boot") } }\n',
        "app/build.gradle.kts": 'plugins { id("shop.boot") }\n',
    }  # fmt: skip
    assert "plugin:org.springframework.boot" in completed(files, "app/build.gradle.kts").facts


def test_plugins_that_apply_each_other_end() -> None:
    files = {
        "buildSrc/src/main/groovy/one.gradle": "plugins { id 'two' }\ndependencies { implementation 'a:one:1' }\n",
        "buildSrc/src/main/groovy/two.gradle": "plugins { id 'one' }\ndependencies { implementation 'a:two:1' }\n",
        "build.gradle": "plugins { id 'one' }\n",
    }
    assert {("a:one", "1"), ("a:two", "1")} <= names(completed(files, "build.gradle"))


def test_a_plugin_outside_of_a_build_of_plugins_is_no_convention() -> None:
    files = {
        "lib/src/main/groovy/one.gradle": "dependencies { implementation 'a:one:1' }\n",
        "build.gradle": "plugins { id 'one' }\n",
    }
    assert ("a:one", "1") not in names(completed(files, "build.gradle"))
