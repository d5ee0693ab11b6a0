"""What a package uses outranks what it only lists, and the confidence says how often that is right."""

from __future__ import annotations

import pytest

from shared.contracts.detect import Candidate
from tests.services.stacks.projects.calibration import Labeled, by_confidence, labeled
from tests.services.stacks.trees import Files, candidate, detected, service

#: Projects whose label does not follow from what can be read: which of two imported programs a binary is, and what is
#: required although nothing imports it. They only count for the confidence.
UNKNOWABLE = ("go: started", "cargo: started", "gradle: started")
CASES = list(labeled())


def framework(files: Files, at: str = "") -> Candidate | None:
    one = service(detected(files), at)
    return candidate(one, "framework", one.primary.framework) if one.primary.framework else None


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.name.startswith(UNKNOWABLE) and ": forgotten: " not in case.name],
    ids=lambda case: case.name,
)
def test_the_framework_is_the_one_that_is_used(case: Labeled) -> None:
    best = framework(case.files, case.at)
    assert (best.id if best else None) == case.framework


def test_of_answers_said_with_ninety_five_percent_as_many_are_right() -> None:
    answers = {}
    for case in CASES:
        best = framework(case.files, case.at)
        if best is not None:
            answers[case.name] = best.confidence, best.id == case.framework
    bands = by_confidence(answers)
    name, count, right = bands[-1]
    assert (name, count > 1000) == ("0.95 to 1.00", True)
    assert right / count >= 0.95
    assert max(confidence for confidence, _ in answers.values()) <= 0.97
    name, count, right = bands[-2]
    assert count > 100
    assert right / count >= 0.85


def test_what_is_forgotten_is_told_with_doubt() -> None:
    for case in CASES:
        best = framework(case.files, case.at) if ": forgotten: " in case.name else None
        assert best is None or best.confidence <= 0.6, case.name


FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"


@pytest.mark.parametrize(
    ("files", "at", "wanted"),
    [
        ({"requirements.txt": "fastapi\nuvicorn\nstreamlit\n", "main.py": FASTAPI, "Dockerfile": 'FROM python\nCMD ["uvicorn","main:app"]\n'}, "", "fastapi"),
        ({"requirements.txt": "fastapi\nstreamlit\n", "main.py": FASTAPI, "ui.py": "import streamlit\n", "Procfile": "web: streamlit run ui.py\n"}, "", "streamlit"),
        ({"requirements.txt": "fastapi\nstreamlit\n", "main.py": FASTAPI, "ui.py": "import streamlit\n", "Procfile": "web: python main.py\n"}, "", "fastapi"),
        ({"build.gradle": 'allprojects { apply plugin: "java"\n dependencies { implementation "io.micronaut:micronaut-http-server-netty:4" } }\n',
          "settings.gradle": "include 'ui'\n", "ui/build.gradle": "plugins { id 'org.siouan.frontend-jdk21' version '9.1.0' }\n",
          "ui/package.json": {"name": "ui", "dependencies": {"vue": "3"}}, "ui/src/App.vue": "<template/>\n"}, "ui", "vue"),
        ({"build.gradle": 'subprojects { dependencies { implementation "io.micronaut:micronaut-http-server-netty:4" } }\n', "settings.gradle": "include 'a'\n",
          "a/build.gradle": "dependencies { implementation 'io.javalin:javalin:6' }\n", "a/src/main/java/A.java": "class A {}\n"}, "a", "javalin"),
        ({"build.gradle": "dependencies { implementation platform('io.micronaut.platform:micronaut-platform:4')\n implementation 'io.javalin:javalin:6' }\n", "A.java": "class A {}\n"}, "", "javalin"),
        ({"build.gradle": "plugins { id 'java-platform' }\ndependencies { constraints { api 'io.micronaut:micronaut-http-server-netty:4' } }\n"}, "", None),
        ({"pom.xml": "<project><artifactId>a</artifactId><dependencyManagement><dependencies><dependency><groupId>io.quarkus</groupId><artifactId>quarkus-rest</artifactId><version>3</version></dependency></dependencies></dependencyManagement></project>", "A.java": "class A {}\n"}, "", None),
        ({"pom.xml": "<project><artifactId>a</artifactId><build><plugins><plugin><groupId>com.vaadin</groupId><artifactId>vaadin-maven-plugin</artifactId></plugin></plugins></build></project>", "A.java": "class A {}\n"}, "", None),
        ({"build.sbt": 'scalaVersion := "3.4.2"\n', "project/plugins.sbt": 'addSbtPlugin("io.spray" % "sbt-revolver" % "0.10.0")\n', "src/main/scala/M.scala": "object M\n"}, "", None),
        ({"build.sbt": 'libraryDependencies += "com.typesafe.play" %% "play-json" % "2.10.0"\n', "src/main/scala/M.scala": "object M\n"}, "", None),
        ({"build.sbt": 'libraryDependencies += "org.http4s" %% "http4s-ember-client" % "0.23"\n', "src/main/scala/M.scala": "object M\n"}, "", None),
        ({"pyproject.toml": "[tool.poetry]\nname='a'\n[tool.poetry.dependencies]\nfastapi='*'\nstreamlit={version='*', optional=true}\n", "a/main.py": FASTAPI}, "", "fastapi"),
        ({"docs/requirements.txt": "apache-airflow\nsphinx\n", "docs/conf.py": "project='p'\n", "docs/index.rst": "x\n"}, "docs", "sphinx"),
        ({"package.json": {"name": "m", "main": "index.ts", "scripts": {"test": "vitest"}, "devDependencies": {"vite": "8", "vitest": "4"}}, "index.ts": "export {}\n"}, "", None),
        ({"package.json": {"name": "m", "scripts": {"test": "vitest"}, "devDependencies": {"vite": "8", "vitest": "4"}}, "index.ts": "1\n",
          "vite.config.ts": "import { defineConfig } from 'vitest/config'\n"}, "", None),
        ({"package.json": {"name": "m", "scripts": {"build": "vite build"}, "devDependencies": {"vite": "8"}}, "index.html": "<p>\n", "main.ts": "1\n"}, "", "vite"),
        ({"package.json": {"name": "m", "exports": "./i.js", "scripts": {"docs:dev": "vitepress dev docs"}, "devDependencies": {"vitepress": "1"}}, "i.js": "1\n"}, "", None),
        ({"package.json": {"private": True, "workspaces": ["apps/*"], "dependencies": {"next": "15"}}, "apps/a/package.json": {"name": "a"}, "apps/a/i.js": "1\n"}, "", None),
        ({"tests/requirements.txt": "flask\npytest\n", "tests/test_a.py": "import flask\n"}, "tests", None),
        ({"a.csproj": '<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><PackageReference Include="Giraffe" PrivateAssets="all" /></ItemGroup></Project>', "A.cs": "class A {}\n"}, "", None),
        ({"a.csproj": '<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><PackageReference Include="Microsoft.AspNetCore.SignalR.Client" /></ItemGroup></Project>', "A.cs": "class A {}\n"}, "", None),
    ],
)  # fmt: skip
def test_what_is_listed_for_another_end_is_not_the_framework(files: Files, at: str, wanted: str | None) -> None:
    best = framework(files, at)
    assert (best.id if best else None) == wanted


def test_a_front_end_that_gradle_wraps_is_told_as_a_front_end() -> None:
    files = {
        "build.gradle": "allprojects { apply plugin: 'java' }\n", "settings.gradle": "include 'ui'\n",
        "ui/build.gradle": "plugins { id 'com.github.node-gradle.node' }\n", "ui/package.json": {"name": "ui", "dependencies": {"vue": "3"}},
        "ui/package-lock.json": "{}", "ui/src/App.vue": "<template/>\n", "ui/src/main.js": "1\n",
    }  # fmt: skip
    primary = service(detected(files), "ui").primary
    assert (primary.language, primary.build_system, primary.framework, primary.runtime) == (
        "javascript",
        "npm",
        "vue",
        "node",
    )


def test_the_place_that_uses_a_framework_is_evidence() -> None:
    best = framework({"requirements.txt": "fastapi\n", "shop/api/main.py": f"import os\n{FASTAPI}"})
    assert best is not None
    assert [(proof.file, proof.line) for proof in best.evidence] == [("requirements.txt", 1), ("shop/api/main.py", 2)]


def test_the_primary_package_is_no_example() -> None:
    code = {"i.js": "1\n" * 50, "server.js": "1\n"}
    files = {f"examples/big/{name}": body for name, body in code.items()} | {
        "packages/lib/package.json": {"name": "lib"},
        "packages/lib/i.js": "1\n",
    }
    files["examples/big/package.json"] = {
        "name": "big",
        "scripts": {"start": "node server.js"},
        "dependencies": {"express": "4"},
    }
    assert [one.path for one in detected(files).services] == ["packages/lib", "examples/big"]
