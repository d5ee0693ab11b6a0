"""Projects that list more frameworks than they use; each label follows from how the project was written.

``role`` of a framework in a project: what the program is made of (``used``), or what is only there for tests, docs,
an extra, another package, or out of habit. The label is the one that is used, else none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

Files = dict[str, object]


@dataclass(frozen=True)
class Framework:
    id: str
    package: str
    code: str  #: of a program that is made of it


@dataclass(frozen=True)
class Ecosystem:
    """How a program and its lists of dependencies are written."""

    name: str
    frameworks: Sequence[Framework]
    main: str  #: the path of the program
    manifest: Callable[[Sequence[str], Sequence[str], Sequence[str]], Files]  #: required, optional, for development
    test: str  #: the path of a test
    plain: str  #: code that imports nothing of these
    command: str


@dataclass(frozen=True)
class Labeled:
    name: str
    files: Files
    framework: str | None
    at: str = ""


def _lines(names: Sequence[str], form: str = '"{}"') -> str:
    return ", ".join(form.format(name) for name in names)


def _pyproject(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = f'[project]\nname = "shop"\ndependencies = [{_lines(required)}]\n'
    if optional:
        text += f"[project.optional-dependencies]\nmore = [{_lines(optional)}]\n"
    if dev:
        text += f"[dependency-groups]\ndev = [{_lines(dev)}]\n"
    return {"pyproject.toml": text}


def _poetry(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = "[tool.poetry]\nname = 'shop'\n[tool.poetry.dependencies]\npython = '^3.12'\n"
    text += "".join(f"{name} = '*'\n" for name in required)
    if optional:
        text += "[tool.poetry.group.more]\noptional = true\n[tool.poetry.group.more.dependencies]\n"
        text += "".join(f"{name} = '*'\n" for name in optional)
    if dev:
        text += "[tool.poetry.group.dev.dependencies]\n" + "".join(f"{name} = '*'\n" for name in dev)
    return {"pyproject.toml": text}


def _requirements(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    files: Files = {"requirements.txt": "".join(f"{name}\n" for name in required)}
    if dev:
        files["requirements-dev.txt"] = "".join(f"{name}\n" for name in [*dev, "pytest"])
    if optional:
        files["setup.py"] = f"setup(name='shop', extras_require={{'more': [{_lines(optional)}]}})\n"
    return files


def _package_json(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    return {"package.json": {
        "name": "shop", "private": True, "scripts": {"start": "node server.js"}, "dependencies": dict.fromkeys(required, "1"),
        "peerDependencies": dict.fromkeys(optional, "1"), "devDependencies": dict.fromkeys(dev, "1"),
    }}  # fmt: skip


def _go_mod(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    direct = "".join(f"\t{name} v1.0.0\n" for name in required)
    indirect = "".join(f"\t{name} v1.0.0 // indirect\n" for name in [*optional, *dev])
    return {"go.mod": f"module example.com/shop\n\ngo 1.24\n\nrequire (\n{direct}{indirect})\n"}


def _cargo(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = '[package]\nname = "shop"\nversion = "0.1.0"\n[dependencies]\n' + "".join(
        f'{name} = "1"\n' for name in required
    )
    text += "".join(f'{name} = {{ version = "1", optional = true }}\n' for name in optional)
    return {"Cargo.toml": text + "[dev-dependencies]\n" + "".join(f'{name} = "1"\n' for name in dev)}


def _gradle(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    lines = [f"implementation '{name}:1.0'" for name in required] + [
        f"implementation platform('{name}:1.0')" for name in optional
    ]
    lines += [f"testImplementation '{name}:1.0'" for name in dev]
    return {"build.gradle": "plugins { id 'application' }\ndependencies {\n" + "\n".join(lines) + "\n}\n"}


ECOSYSTEMS = (
    *(
        Ecosystem(
            name,
            (
                Framework("fastapi", "fastapi", "from fastapi import FastAPI\napp = FastAPI()\n"),
                Framework("flask", "flask", "from flask import Flask\napp = Flask(__name__)\n"),
                Framework("streamlit", "streamlit", "import streamlit as st\nst.title('x')\n"),
                Framework("django", "django", "import django\nfrom django.urls import path\n"),
                Framework("gradio", "gradio", "import gradio as gr\ngr.Interface(f, 'text', 'text').launch()\n"),
                Framework("airflow", "apache-airflow", "from airflow import DAG\ndag = DAG('x')\n"),
                Framework("litestar", "litestar", "from litestar import Litestar\napp = Litestar([])\n"),
                Framework("dash", "dash", "import dash\napp = dash.Dash()\n"),
            ),
            "shop/main.py", manifest, "tests/test_shop.py", "import json\nprint(json.dumps({}))\n", "python shop/main.py",
        )
        for name, manifest in (("pyproject", _pyproject), ("poetry", _poetry), ("requirements", _requirements))
    ),
    Ecosystem(
        "npm",
        (
            Framework("express", "express", "const express = require('express');\nexpress().listen(3000);\n"),
            Framework("fastify", "fastify", "import Fastify from 'fastify';\nFastify().listen({ port: 3000 });\n"),
            Framework("koa", "koa", "const Koa = require('koa');\nnew Koa().listen(3000);\n"),
            Framework("hono", "hono", "import { Hono } from 'hono';\nexport default new Hono();\n"),
            Framework("nestjs", "@nestjs/core", "import { NestFactory } from '@nestjs/core';\nNestFactory.create(App);\n"),
            Framework("restify", "restify", "const restify = require('restify');\nrestify.createServer();\n"),
        ),
        "server.js", _package_json, "test/server.test.js", "console.log(1);\n", "node server.js",
    ),
    Ecosystem(
        "go",
        (
            Framework("gin", "github.com/gin-gonic/gin", 'package main\nimport "github.com/gin-gonic/gin"\nfunc main() { gin.Default().Run() }\n'),
            Framework("echo", "github.com/labstack/echo/v4", 'package main\nimport "github.com/labstack/echo/v4"\nfunc main() { echo.New() }\n'),
            Framework("fiber", "github.com/gofiber/fiber/v2", 'package main\nimport "github.com/gofiber/fiber/v2"\nfunc main() { fiber.New() }\n'),
            Framework("chi", "github.com/go-chi/chi/v5", 'package main\nimport "github.com/go-chi/chi/v5"\nfunc main() { chi.NewRouter() }\n'),
        ),
        "main.go", _go_mod, "shop_test.go", "package main\nfunc main() {}\n", "./shop",
    ),
    Ecosystem(
        "cargo",
        (
            Framework("axum", "axum", "use axum::Router;\nfn main() { Router::new(); }\n"),
            Framework("actix-web", "actix-web", "use actix_web::App;\nfn main() { App::new(); }\n"),
            Framework("rocket", "rocket", "use rocket::launch;\nfn main() {}\n"),
            Framework("warp", "warp", "use warp::Filter;\nfn main() {}\n"),
        ),
        "src/main.rs", _cargo, "tests/shop.rs", "fn main() {}\n", "./shop",
    ),
    Ecosystem(
        "gradle",
        (
            Framework("javalin", "io.javalin:javalin", "import io.javalin.Javalin;\nclass App { public static void main(String[] a) {} }\n"),
            Framework("ktor", "io.ktor:ktor-server-netty", "import io.ktor.server.engine.Engine;\nclass App {}\n"),
            Framework("micronaut", "io.micronaut:micronaut-http-server-netty", "import io.micronaut.runtime.Micronaut;\nclass App {}\n"),
            Framework("vertx", "io.vertx:vertx-web", "import io.vertx.core.Vertx;\nclass App {}\n"),
        ),
        "src/main/java/App.java", _gradle, "src/test/java/AppTest.java", "class App { public static void main(String[] a) {} }\n",
        "java -jar app.jar",
    ),
)  # fmt: skip


def _alone(eco: Ecosystem, one: Framework, _: Framework) -> tuple[Files, str | None]:
    return {**eco.manifest([one.package], [], []), eco.main: one.code}, one.id


def _beside_required(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    return {**eco.manifest([other.package, one.package], [], []), eco.main: one.code}, one.id


def _beside_optional(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    return {**eco.manifest([one.package], [other.package], []), eco.main: one.code}, one.id


def _beside_development(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    return {**eco.manifest([one.package], [], [other.package]), eco.main: one.code, eco.test: other.code}, one.id


def _only_for_tests(eco: Ecosystem, one: Framework, _: Framework) -> tuple[Files, str | None]:
    return {**eco.manifest([], [], [one.package]), eco.main: eco.plain, eco.test: one.code}, None


def _only_an_extra(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    """A library that works with several: none is what it is made of."""
    folder = eco.main.rpartition("/")[0]
    ending = eco.main.rpartition(".")[2]
    inner = {f"{folder}/contrib/{at}.{ending}".lstrip("/"): one.code for at, one in (("first", one), ("second", other))}
    return {**eco.manifest([], [one.package, other.package], []), eco.main: eco.plain, **inner}, None


def _in_an_example(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    example = f"examples/{other.id}/{eco.main.rpartition('/')[2]}"
    return {**eco.manifest([one.package, other.package], [], []), eco.main: one.code, example: other.code}, one.id


def _started(eco: Ecosystem, one: Framework, other: Framework) -> tuple[Files, str | None]:
    """Two programs in one package: the container starts one of them."""
    folder, _, name = eco.main.rpartition("/")
    tool = f"{folder}/tools_{name}".lstrip("/")
    files = {**eco.manifest([one.package, other.package], [], []), eco.main: one.code, tool: other.code}
    return {**files, "Dockerfile": f"FROM x\nCMD {eco.command}\n"}, one.id


def _forgotten(eco: Ecosystem, one: Framework, _: Framework) -> tuple[Files, str | None]:
    """Required, and nothing of the code uses it any more."""
    return {**eco.manifest([one.package], [], []), eco.main: eco.plain}, None


def _unread(eco: Ecosystem, one: Framework, _: Framework) -> tuple[Files, str | None]:
    """The program itself is not in the tree, as in a sample of settings."""
    return {**eco.manifest([one.package], [], []), "notes.txt": "x\n"}, one.id


def _through_a_folder(eco: Ecosystem, one: Framework, _: Framework) -> tuple[Files, str | None]:
    """The framework comes with another package of the same source."""
    core = {
        f"core/{path}": content
        for path, content in {**eco.manifest([one.package], [], []), eco.main: eco.plain}.items()
    }
    if eco.name == "pyproject":
        app: Files = {
            "app/pyproject.toml": "[project]\nname = 'app'\ndependencies = ['shop']\n[tool.uv.sources]\nshop = {path = '../core'}\n"
        }
    elif eco.name == "poetry":
        app = {
            "app/pyproject.toml": "[tool.poetry]\nname = 'app'\n[tool.poetry.dependencies]\nshop = {path = '../core', develop = true}\n"
        }
    elif eco.name == "requirements":
        app = {"app/requirements.txt": "-e ../core\n"}
    elif eco.name == "npm":
        app = {
            "app/package.json": {
                "name": "app",
                "scripts": {"start": "node server.js"},
                "dependencies": {"shop": "workspace:*"},
            }
        }
    elif eco.name == "cargo":
        app = {
            "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\n[dependencies]\nshop = { path = "../core" }\n'
        }
    elif eco.name == "gradle":
        app = {
            "app/build.gradle": "plugins { id 'application' }\ndependencies { implementation project(':core') }\n",
            "settings.gradle": "include 'app', 'core'\n",
        }
    else:
        return _alone(eco, one, one)
    return {**core, **app, f"app/{eco.main}": one.code}, one.id


SITUATIONS = (
    _alone, _beside_required, _beside_optional, _beside_development, _only_for_tests, _only_an_extra, _in_an_example,
    _started, _forgotten, _unread, _through_a_folder,
)  # fmt: skip
#: Projects of one framework in which the other plays no part.
_SINGLE = frozenset((_alone, _only_for_tests, _forgotten, _unread, _through_a_folder))


def labeled() -> Iterator[Labeled]:
    """Yield every situation for every pair of frameworks of an ecosystem."""
    for eco in ECOSYSTEMS:
        for situation in SITUATIONS:
            seen: set[str] = set()
            for one, other in permutations(eco.frameworks, 2):
                if situation in _SINGLE and one.id in seen:
                    continue
                seen.add(one.id)
                files, framework = situation(eco, one, other)
                at = "app" if situation is _through_a_folder and any(path.startswith("app/") for path in files) else ""
                name = f"{eco.name}: {situation.__name__.strip('_').replace('_', ' ')}: {one.id}, {other.id}"
                yield Labeled(name, files, framework, at)


def by_confidence(answers: Mapping[str, tuple[float, bool]]) -> list[tuple[str, int, int]]:
    """Return, for each band of confidence, the number of answers and of those that are right."""
    bands = ((0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01))
    rows = []
    for low, high in bands:
        mine = [right for confidence, right in answers.values() if low <= confidence < high]
        rows.append((f"{low:.2f} to {min(high, 1):.2f}", len(mine), sum(mine)))
    return rows
