"""Projects that no bound was set on: drawn with a fixed seed from other programs than ``calibration`` has.

The first set, here, showed kinds of mistakes that were then repaired; ``heldout_second`` was written after that.

A project is one program, and around it what people leave in a source tree. Each part is drawn by itself, and the
labels are what was drawn: the framework that the program is made of, the command and the port that some file gives it,
and the stores that it connects to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

Files = dict[str, object]


@dataclass(frozen=True)
class Program:
    """A program made of one framework; ``command`` starts it, with ``{port}`` where that is said."""

    framework: str
    packages: tuple[str, ...]
    path: str
    code: str
    command: str


@dataclass(frozen=True)
class Ecosystem:
    """The programs of a language, the drivers of its stores, and how its lists of dependencies are written."""

    name: str
    programs: Sequence[Program]
    drivers: dict[str, str]
    manifests: Sequence[Callable[[Sequence[str], Sequence[str], Sequence[str]], Files]]
    image: str
    comment: str
    test: str  #: the path of a test; the code of another program goes there
    old: str  #: a folder of code that nothing starts


@dataclass
class Project:
    name: str
    files: Files
    framework: str | None
    command: tuple[str, ...] | None = None  #: None: no file says it
    ports: tuple[int, ...] | None = None
    uses: frozenset[str] = frozenset()
    parts: list[str] = field(default_factory=list)  #: what was drawn


def python_program(
    framework: str, package: str, module: str, made: str, command: str, path: str = "service/app.py"
) -> Program:
    return Program(framework, (package,), path, f"import logging\n\n{module}\n\n{made}\n", command)


_PYTHON = (
    python_program(
        "sanic", "sanic", "from sanic import Sanic", "app = Sanic('orders')", "sanic service.app:app --port={port}"
    ),
    python_program(
        "tornado",
        "tornado",
        "import tornado.web",
        "application = tornado.web.Application([])",
        "python service/app.py --port={port}",
    ),
    python_program(
        "falcon", "falcon", "import falcon.asgi", "app = falcon.asgi.App()", "uvicorn service.app:app --port {port}"
    ),
    python_program(
        "bottle",
        "bottle",
        "from bottle import Bottle, run",
        "app = Bottle()",
        "gunicorn -b 0.0.0.0:{port} service.app:app",
    ),
    python_program(
        "starlette",
        "starlette",
        "from starlette.applications import Starlette",
        "app = Starlette(routes=[])",
        "uvicorn service.app:app --host 0.0.0.0 --port {port}",
    ),
    python_program(
        "quart",
        "quart",
        "from quart import Quart",
        "app = Quart(__name__)",
        "hypercorn -b 0.0.0.0:{port} service.app:app",
    ),
    python_program(
        "pyramid",
        "pyramid",
        "from pyramid.config import Configurator",
        "config = Configurator()",
        "pserve production.ini http_port={port}",
    ),
    python_program(
        "blacksheep",
        "blacksheep",
        "from blacksheep import Application",
        "app = Application()",
        "uvicorn service.app:app --port {port}",
    ),
    python_program(
        "nicegui", "nicegui", "from nicegui import ui", "ui.run(port=8080)", "python service/app.py --port {port}"
    ),
    python_program(
        "panel", "panel", "import panel as pn", "pn.panel('x').servable()", "panel serve service/app.py --port {port}"
    ),
    python_program(
        "dagster",
        "dagster",
        "from dagster import Definitions",
        "defs = Definitions()",
        "dagster-webserver -m service.app -p {port}",
    ),
    python_program(
        "aiogram",
        "aiogram",
        "from aiogram import Bot, Dispatcher",
        "dispatcher = Dispatcher()",
        "python service/app.py --port {port}",
    ),
)
_NODE = (
    Program(
        "hapi",
        ("@hapi/hapi",),
        "src/server.js",
        "const Hapi = require('@hapi/hapi');\nconst server = Hapi.server({ port: 9999 });\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "feathers",
        ("@feathersjs/feathers",),
        "src/server.js",
        "const { feathers } = require('@feathersjs/feathers');\nmodule.exports = feathers();\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "polka",
        ("polka",),
        "src/server.js",
        "import polka from 'polka';\npolka().listen(9999);\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "elysia",
        ("elysia",),
        "src/server.js",
        "import { Elysia } from 'elysia';\nnew Elysia();\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "apollo-server",
        ("@apollo/server",),
        "src/server.js",
        "import { ApolloServer } from '@apollo/server';\nnew ApolloServer({});\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "moleculer",
        ("moleculer",),
        "src/server.js",
        "const { ServiceBroker } = require('moleculer');\nnew ServiceBroker();\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "telegraf",
        ("telegraf",),
        "src/server.js",
        "const { Telegraf } = require('telegraf');\nnew Telegraf(process.env.BOT_TOKEN).launch();\n",
        "node src/server.js --port {port}",
    ),
    Program(
        "graphql-yoga",
        ("graphql-yoga",),
        "src/server.js",
        "import { createYoga } from 'graphql-yoga';\ncreateYoga({});\n",
        "node src/server.js --port {port}",
    ),
)


def golang_program(framework: str, module: str, made: str) -> Program:
    code = f'package main\n\nimport (\n\t"log"\n\n\t"{module}"\n)\n\nfunc main() {{\n\tlog.Println("x")\n\t{made}\n}}\n'
    return Program(framework, (module,), "cmd/shop/main.go", code, "/bin/shop -port={port}")


_GO = (
    golang_program("gorilla", "github.com/gorilla/mux", "mux.NewRouter()"),
    golang_program("iris", "github.com/kataras/iris/v12", "iris.New()"),
    golang_program("beego", "github.com/beego/beego/v2", "beego.Run()"),
    golang_program("hertz", "github.com/cloudwego/hertz", "server.Default()"),
    golang_program("httprouter", "github.com/julienschmidt/httprouter", "httprouter.New()"),
    golang_program("huma", "github.com/danielgtaylor/huma/v2", "huma.New()"),
)


def rust_program(framework: str, crate: str, code: str) -> Program:
    return Program(
        framework, (crate,), "src/main.rs", f"{code}\n\nfn main() {{\n}}\n", "/usr/local/bin/shop --port {port}"
    )


_RUST = (
    rust_program("poem", "poem", "use poem::{Route, Server};"),
    rust_program("salvo", "salvo", "use salvo::prelude::*;"),
    rust_program("viz", "viz", "use viz::{serve, Router};"),
    rust_program("tonic", "tonic", "use tonic::transport::Server;"),
    rust_program("ntex", "ntex", "use ntex::web;"),
    rust_program("gotham", "gotham", "use gotham::router::Router;"),
)
_RUBY = (
    Program(
        "hanami",
        ("hanami",),
        "app.rb",
        "require 'hanami'\n\nmodule Shop\n  class App < Hanami::App\n  end\nend\n",
        "bundle exec puma -p {port}",
    ),
    Program("roda", ("roda",), "app.rb", "require 'roda'\n\nclass App < Roda\nend\n", "bundle exec puma -p {port}"),
    Program(
        "grape", ("grape",), "app.rb", "require 'grape'\n\nclass API < Grape::API\nend\n", "bundle exec puma -p {port}"
    ),
    Program("padrino", ("padrino",), "app.rb", "require 'padrino'\n", "bundle exec puma -p {port}"),
)
_PHP = (
    Program(
        "slim",
        ("slim/slim",),
        "public/index.php",
        "<?php\nuse Slim\\Factory\\AppFactory;\n$app = AppFactory::create();\n",
        "php -S 0.0.0.0:{port} -t public",
    ),
    Program(
        "codeigniter",
        ("codeigniter4/framework",),
        "public/index.php",
        "<?php\nuse CodeIgniter\\Boot;\n",
        "php -S 0.0.0.0:{port} -t public",
    ),
    Program(
        "cakephp",
        ("cakephp/cakephp",),
        "public/index.php",
        "<?php\nuse Cake\\Http\\Server;\n",
        "php -S 0.0.0.0:{port} -t public",
    ),
    Program(
        "laminas",
        ("laminas/laminas-mvc",),
        "public/index.php",
        "<?php\nuse Laminas\\Mvc\\Application;\n",
        "php -S 0.0.0.0:{port} -t public",
    ),
)


def _jvm(framework: str, artifact: str, module: str) -> Program:
    code = f"package shop;\n\nimport java.util.List;\nimport {module};\n\npublic class Shop {{\n    public static void main(String[] args) {{}}\n}}\n"
    return Program(
        framework, (artifact,), "src/main/java/shop/Shop.java", code, "java -jar /srv/shop.jar --port={port}"
    )


_JVM = (
    _jvm("helidon", "io.helidon.webserver:helidon-webserver", "io.helidon.webserver.WebServer"),
    _jvm("dropwizard", "io.dropwizard:dropwizard-core", "io.dropwizard.core.Application"),
    _jvm("jooby", "io.jooby:jooby", "io.jooby.Jooby"),
    _jvm("armeria", "com.linecorp.armeria:armeria", "com.linecorp.armeria.server.Server"),
    _jvm("ratpack", "io.ratpack:ratpack-core", "io.ratpack.server.RatpackServer"),
)
_ELIXIR = (
    Program(
        "phoenix",
        ("phoenix",),
        "lib/shop/endpoint.ex",
        "defmodule Shop.Endpoint do\n  use Phoenix.Endpoint, otp_app: :shop\nend\n",
        "/app/bin/shop start --port {port}",
    ),
    Program(
        "ash",
        ("ash",),
        "lib/shop/resource.ex",
        "defmodule Shop.Resource do\n  use Ash.Resource\nend\n",
        "/app/bin/shop start --port {port}",
    ),
    Program(
        "nerves",
        ("nerves",),
        "lib/shop/application.ex",
        "defmodule Shop.Application do\n  use Application\nend\n",
        "/app/bin/shop start --port {port}",
    ),
)


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _setup_cfg(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = "[metadata]\nname = shop\n\n[options]\ninstall_requires =\n" + "".join(f"    {name}\n" for name in required)
    text += "\n[options.extras_require]\n"
    text += "everything =\n" + "".join(f"    {name}\n" for name in optional) if optional else ""
    text += "test =\n" + "".join(f"    {name}\n" for name in dev) if dev else ""
    return {"setup.cfg": text, "setup.py": "from setuptools import setup\n\nsetup()\n"}


def _pipfile(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = "[[source]]\nurl = 'https://index.example/simple'\nverify_ssl = true\nname = 'pypi'\n\n[packages]\n"
    text += "".join(f'{name} = "*"\n' for name in required) + "\n[dev-packages]\n"
    return {"Pipfile": text + "".join(f'{name} = "*"\n' for name in [*dev, *optional])}


def _uv(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    listed = "".join(f"    {json.dumps(name)},\n" for name in required)
    text = f'[project]\nname = "shop"\nversion = "0"\ndependencies = [\n{listed}]\n'
    if optional:
        text += f"\n[project.optional-dependencies]\nserver = [{quoted(optional)}]\n"
    return {"pyproject.toml": text + f"\n[tool.uv]\ndev-dependencies = [{quoted(dev)}]\n", "uv.lock": "version = 1\n"}


def _package(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    body = {
        "name": "shop",
        "version": "1.0.0",
        "private": True,
        "scripts": {"test": "node --test"},
        "dependencies": dict.fromkeys(required, "^2.0.0"),
    }
    return {
        "package.json": {
            **body,
            "optionalDependencies": dict.fromkeys(optional, "^2.0.0"),
            "devDependencies": dict.fromkeys(dev, "^2.0.0"),
        },
        "yarn.lock": "# yarn lockfile v1\n",
    }


def go_mod(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    lines = [f"require {name} {_major(name)} // indirect\n" for name in [*optional, *dev]]
    lines += [f"require {name} {_major(name)}\n" for name in required]
    return {"go.mod": "module example.org/shop\n\ngo 1.25\n\n" + "".join(lines)}


def _major(name: str) -> str:
    last = name.rpartition("/")[2]
    return f"{last}.1.0" if last[:1] == "v" and last[1:].isdigit() else "v0.4.0"


def cargo(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    def line(name: str, more: str = "") -> str:
        crate, _, feature = name.partition("[")
        features = f', features = ["{feature.rstrip("]")}"]' if feature else ""
        return f'{crate} = {{ version = "0.9"{features}{more} }}\n'

    text = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2024"\n\n[dependencies]\n' + "".join(
        map(line, required)
    )
    text += "".join(line(name, ", optional = true") for name in optional)
    return {"Cargo.toml": text + "\n[dev-dependencies]\n" + "".join(map(line, dev))}


def gemfile(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = "source 'https://rubygems.org'\n\n" + "".join(f"gem '{name}', '~> 2.0'\n" for name in required)
    return {
        "Gemfile": text + "\ngroup :test do\n" + "".join(f"  gem '{name}'\n" for name in [*dev, *optional]) + "end\n"
    }


def _composer(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    body = {"name": "acme/shop", "type": "project", "require": {"php": "^8.3", **dict.fromkeys(required, "^4.0")}}
    return {
        "composer.json": {
            **body,
            "require-dev": dict.fromkeys([*dev, *optional], "^4.0"),
            "suggest": dict.fromkeys(optional, "for more"),
        }
    }


def _pom(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    def item(name: str, more: str = "") -> str:
        group, _, artifact = name.partition(":")
        return f"    <dependency>\n      <groupId>{group}</groupId>\n      <artifactId>{artifact}</artifactId>\n      <version>2.0</version>{more}\n    </dependency>\n"

    wanted = "".join(map(item, required)) + "".join(item(name, "<optional>true</optional>") for name in optional)
    wanted += "".join(item(name, "<scope>test</scope>") for name in dev)
    return {
        "pom.xml": f"<project>\n  <groupId>acme</groupId>\n  <artifactId>shop</artifactId>\n  <version>1</version>\n  <dependencies>\n{wanted}  </dependencies>\n</project>\n"
    }


def _mix(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    lines = [f'{{:{name}, "~> 1.0"}}' for name in required] + [
        f'{{:{name}, "~> 1.0", optional: true}}' for name in optional
    ]
    lines += [f'{{:{name}, "~> 1.0", only: [:dev, :test]}}' for name in dev]
    joined = ",\n      ".join(lines)
    return {
        "mix.exs": f"defmodule Shop.MixProject do\n  use Mix.Project\n\n  def project, do: [app: :shop, deps: deps()]\n\n  def application, do: [mod: {{Shop.Application, []}}]\n\n  defp deps do\n    [\n      {joined}\n    ]\n  end\nend\n"
    }


ECOSYSTEMS = (
    Ecosystem("python", _PYTHON, {"postgresql": "asyncpg", "mongodb": "motor", "mysql": "mysqlclient", "redis": "redis", "kafka": "aiokafka", "elasticsearch": "elasticsearch"},
              (_setup_cfg, _pipfile, _uv), "python:3.13", "#", "tests/test_service.py", "legacy/old.py"),
    Ecosystem("node", _NODE, {"postgresql": "pg", "mongodb": "mongoose", "mysql": "mysql2", "redis": "ioredis", "kafka": "kafkajs", "rabbitmq": "amqplib"},
              (_package,), "node:24", "//", "test/server.test.js", "scripts/old.js"),
    Ecosystem("go", _GO, {"postgresql": "github.com/jackc/pgx/v5", "mysql": "github.com/go-sql-driver/mysql", "redis": "github.com/redis/go-redis/v9", "nats": "github.com/nats-io/nats.go"},
              (go_mod,), "golang:1.25", "//", "cmd/shop/main_test.go", "tools/old/main.go"),
    Ecosystem("rust", _RUST, {"postgresql": "sqlx[postgres]", "mysql": "diesel[mysql]", "redis": "redis", "mongodb": "mongodb"},
              (cargo,), "rust:1.90", "//", "tests/shop.rs", "benches/old.rs"),
    Ecosystem("ruby", _RUBY, {"postgresql": "pg", "mysql": "mysql2", "redis": "redis", "rabbitmq": "bunny"},
              (gemfile,), "ruby:3.4", "#", "spec/app_spec.rb", "scripts/old.rb"),
    Ecosystem("php", _PHP, {"mongodb": "mongodb/mongodb", "redis": "predis/predis", "rabbitmq": "php-amqplib/php-amqplib"},
              (_composer,), "php:8.4-cli", "//", "tests/ShopTest.php", "scripts/old.php"),
    Ecosystem("java", _JVM, {"postgresql": "org.postgresql:postgresql", "mysql": "com.mysql:mysql-connector-j", "kafka": "org.apache.kafka:kafka-clients", "mongodb": "org.mongodb:mongodb-driver-sync"},
              (_pom,), "eclipse-temurin:25", "//", "src/test/java/shop/ShopTest.java", "samples/Old.java"),
    Ecosystem("elixir", _ELIXIR, {"postgresql": "postgrex", "mysql": "myxql", "redis": "redix"},
              (_mix,), "elixir:1.18", "#", "test/shop_test.exs", "scripts/old.exs"),
)  # fmt: skip


@dataclass
class Draft:
    """A project while its parts are drawn."""

    random: Random
    eco: Ecosystem
    program: Program
    files: Files = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    dev: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def others(self, count: int) -> list[Program]:
        taken = set(self.required) | set(self.optional) | set(self.dev) | set(self.program.packages)
        free = [other for other in self.eco.programs if taken.isdisjoint(other.packages)]
        return self.random.sample(free, min(count, len(free)))


def _tests_of_another(draft: Draft) -> None:
    for other in draft.others(1):
        draft.dev += other.packages
        draft.files[draft.eco.test] = other.code


def _works_with_another(draft: Draft) -> None:
    """An optional part for those who use another framework."""
    for other in draft.others(1):
        draft.optional += other.packages
        folder, _, name = draft.program.path.rpartition("/")
        draft.files[
            f"{folder}/integrations/{other.framework.replace('-', '_')}.{name.rpartition('.')[2]}".lstrip("/")
        ] = other.code


def _left_over(draft: Draft) -> None:
    """Required as before, and used by old code alone."""
    for other in draft.others(1):
        draft.required += other.packages
        draft.files[draft.eco.old] = other.code


def _an_example(draft: Draft) -> None:
    for other in draft.others(1):
        folder = f"examples/with-{other.framework}"
        made = draft.random.choice(draft.eco.manifests)(other.packages, [], [])
        draft.files |= {f"{folder}/{path}": content for path, content in {**made, other.path: other.code}.items()}


def _only_mentioned(draft: Draft) -> None:
    for other in draft.others(2):
        draft.files[f"docs/{other.framework}.md"] = f"# Why not {other.framework}\n\n```\n{other.code}\n```\n"
        draft.files["README.md"] = f"Faster than {other.framework}.\n"


def _in_a_comment(draft: Draft) -> None:
    for other in draft.others(1):
        lines = "".join(f"{draft.eco.comment} was: {line}\n" for line in other.code.splitlines())
        code = draft.files[draft.program.path]
        draft.files[draft.program.path] = f"{code}{lines}"


def _pages_next_to_it(draft: Draft) -> None:
    """A front end of another language in a folder of its own."""
    body = {
        "name": "pages",
        "private": True,
        "scripts": {"dev": "vite", "build": "vite build"},
        "dependencies": {"vue": "^3.5.0"},
        "devDependencies": {"vite": "^7.0.0"},
    }
    draft.files |= {
        "pages/package.json": body,
        "pages/index.html": "<div id=app></div>\n",
        "pages/src/main.js": "import { createApp } from 'vue'\n",
    }


AROUND = (
    _tests_of_another,
    _works_with_another,
    _left_over,
    _an_example,
    _only_mentioned,
    _in_a_comment,
    _pages_next_to_it,
)


def _words(command: str) -> tuple[str, ...]:
    return tuple(command.split())


def _docker(draft: Draft, command: str, port: int) -> None:
    draft.files["Dockerfile"] = (
        f"FROM {draft.eco.image} AS build\nWORKDIR /src\nCOPY . .\nRUN make\n\nFROM debian:13-slim AS run\n"
        f"COPY --from=build /src /srv\nEXPOSE {port}\nCMD {json.dumps(command.split())}\n"
    )


def _docker_elsewhere(draft: Draft, command: str, port: int) -> None:
    draft.files["build/package/Dockerfile"] = (
        f"FROM {draft.eco.image}\nWORKDIR /srv\nCOPY . .\nEXPOSE {port}\nENTRYPOINT {json.dumps(command.split())}\n"
    )
    draft.files["compose.yml"] = (
        "services:\n  shop:\n    build:\n      context: .\n      dockerfile: build/package/Dockerfile\n"
    )


def _heroku(draft: Draft, command: str, port: int) -> None:
    draft.files["Procfile"] = f"release: echo migrated\nweb: {command}\nclock: echo tick\n"


def _railway(draft: Draft, command: str, port: int) -> None:
    draft.files["railway.toml"] = (
        f'[build]\nbuilder = "railpack"\n\n[deploy]\nstartCommand = "{command}"\nhealthcheckPath = "/"\n'
    )


def _render(draft: Draft, command: str, port: int) -> None:
    draft.files["render.yaml"] = (
        f"services:\n  - type: web\n    name: shop\n    runtime: {draft.eco.name}\n    buildCommand: make\n    startCommand: {command}\n"
    )


def _unit(draft: Draft, command: str, port: int) -> None:
    draft.files["packaging/shop.service"] = (
        f"[Unit]\nDescription=Shop\n\n[Service]\nType=simple\nExecStart={command}\nRestart=always\n"
    )


def _fly(draft: Draft, command: str, port: int) -> None:
    draft.files["fly.toml"] = (
        f'app = "shop"\n\n[processes]\n  web = "{command}"\n\n[[services]]\n  internal_port = {port}\n  protocol = "tcp"\n'
    )


def _kubernetes(draft: Draft, command: str, port: int) -> None:
    _docker(draft, command, port)
    draft.files["k8s/deployment.yaml"] = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  template:\n    spec:\n      containers:\n"
        f"        - name: shop\n          image: acme/shop\n          ports:\n            - containerPort: {port}\n"
    )


STARTS = (_docker, _docker_elsewhere, _heroku, _railway, _render, _unit, _fly, _kubernetes)
_IMAGES = {"postgresql": "postgres:18", "mongodb": "mongo:8", "mysql": "mysql:9", "redis": "redis:8-alpine", "kafka": "apache/kafka:4.0.0",
           "elasticsearch": "elasticsearch:9.0.0", "rabbitmq": "rabbitmq:4-management", "nats": "nats:2"}  # fmt: skip
_ADDRESSES = {"postgresql": "postgres://shop@db/shop", "mongodb": "mongodb://db/shop", "mysql": "mysql://shop@db/shop", "redis": "redis://cache:6379",
              "rabbitmq": "amqp://queue", "nats": "nats://queue"}  # fmt: skip


def _stores(draft: Draft) -> frozenset[str]:
    """Draw what the program connects to, and what only its tests start."""
    random = draft.random
    chosen = random.sample(sorted(draft.eco.drivers), random.choice((0, 1, 1, 2)))
    for store in chosen:
        form = random.choice(("driver", "driver", "compose", "settings"))
        if form == "compose" and "compose.yml" not in draft.files:
            draft.files["compose.yml"] = (
                f"services:\n  shop:\n    build: .\n    depends_on: [{store}]\n  {store}:\n    image: {_IMAGES[store]}\n"
            )
            draft.files.setdefault("Dockerfile", f"FROM {draft.eco.image}\nCOPY . .\n")
        elif form == "settings" and store in _ADDRESSES:
            draft.files[".env.example"] = (
                f"{draft.files.get('.env.example', '')}{store.upper()}_URL={_ADDRESSES[store]}\n"
            )
        else:
            draft.required.append(draft.eco.drivers[store])
        draft.parts.append(f"{store} by {form}")
    if random.random() < 0.25 and (rest := sorted(set(draft.eco.drivers) - set(chosen))):
        draft.dev.append(draft.eco.drivers[random.choice(rest)])
        draft.parts.append("a store of tests")
    return frozenset(chosen)


Part = Callable[[Draft], None]


def drawn(ecosystems: Sequence[Ecosystem], around: Sequence[Part], count: int, seed: int) -> list[Project]:
    """Draw projects; the same seed gives the same ones."""
    random = Random(seed)
    return [_project(random, at, ecosystems[at % len(ecosystems)], around) for at in range(count)]


def first_set(count: int = 400, seed: int = 20261127) -> list[Project]:
    return drawn(ECOSYSTEMS, AROUND, count, seed)


def _project(random: Random, at: int, eco: Ecosystem, around: Sequence[Part]) -> Project:
    program = random.choice(eco.programs)
    draft = Draft(random, eco, program)
    port = random.randrange(3100, 9900)
    unused = random.random() < 0.1 and program.packages[0] not in program.command
    plain = program.code if not unused else f"{eco.comment} nothing yet\n"
    draft.files[program.path] = f"<?php\n{plain}" if eco.name == "php" and unused else plain
    draft.required += program.packages
    command, ports = None, None
    if random.random() < 0.7:
        form = random.choice(STARTS)
        words = program.command.format(port=port)
        form(draft, words, port)
        command, ports = _words(words), (port,)
        draft.parts.append(form.__name__)
    for part in random.sample(around, random.choice((0, 1, 1, 2, 2, 3))):
        part(draft)
        draft.parts.append(part.__name__)
    uses = _stores(draft)
    random.shuffle(draft.required)
    draft.files |= random.choice(eco.manifests)(draft.required, draft.optional, draft.dev)
    framework = None if unused else program.framework
    return Project(f"{at}: {eco.name} {program.framework}", draft.files, framework, command, ports, uses, draft.parts)
