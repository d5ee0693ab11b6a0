"""The second set of projects that no bound was set on: other programs, other languages and more around them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.services.stacks.projects.heldout import (
    AROUND,
    Draft,
    Ecosystem,
    Files,
    Part,
    Program,
    Project,
    cargo,
    drawn,
    gemfile,
    go_mod,
    golang_program,
    python_program,
    quoted,
    rust_program,
)

_MAIN = "backend/web/main.py"
_PYTHON = (
    python_program(
        "fastapi",
        "fastapi",
        "from fastapi import APIRouter, FastAPI",
        "api = FastAPI()",
        "uvicorn backend.web.main:api --port {port}",
        _MAIN,
    ),
    python_program(
        "litestar",
        "litestar",
        "from litestar import Litestar, get",
        "app = Litestar([])",
        "litestar --app backend.web.main:app run --port {port}",
        _MAIN,
    ),
    python_program(
        "robyn",
        "robyn",
        "from robyn import Robyn",
        "app = Robyn(__file__)",
        "python backend/web/main.py --port {port}",
        _MAIN,
    ),
    python_program(
        "cherrypy",
        "cherrypy",
        "import cherrypy",
        "cherrypy.quickstart(object())",
        "python backend/web/main.py --port {port}",
        _MAIN,
    ),
    python_program(
        "solara",
        "solara",
        "import solara",
        "@solara.component\ndef Page():\n    pass",
        "solara run backend/web/main.py --port {port}",
        _MAIN,
    ),
    python_program(
        "prefect",
        "prefect",
        "from prefect import flow",
        "@flow\ndef main():\n    pass",
        "prefect server start --port {port}",
        _MAIN,
    ),
    python_program(
        "chainlit",
        "chainlit",
        "import chainlit as cl",
        "@cl.on_message\nasync def main(m):\n    pass",
        "chainlit run backend/web/main.py --port {port}",
        _MAIN,
    ),
)
_NODE = (
    Program(
        "nextjs",
        ("next",),
        "app/page.tsx",
        "import Link from 'next/link'\nexport default function Page() { return <Link href='/' /> }\n",
        "next start -p {port}",
    ),
    Program("nuxt", ("nuxt",), "app.vue", "<template><NuxtPage /></template>\n", "nuxt start --port {port}"),
    Program(
        "adonis",
        ("@adonisjs/core",),
        "start/routes.ts",
        "import router from '@adonisjs/core/services/router'\nrouter.get('/', () => 1)\n",
        "node build/bin/server.js --port {port}",
    ),
    Program(
        "loopback",
        ("@loopback/core",),
        "src/index.ts",
        "import { Application } from '@loopback/core'\n",
        "node dist/index.js --port {port}",
    ),
    Program(
        "medusa",
        ("@medusajs/medusa",),
        "src/api/route.ts",
        "import { MedusaRequest } from '@medusajs/medusa'\n",
        "medusa start --port {port}",
    ),
    Program(
        "discord-js",
        ("discord.js",),
        "src/index.ts",
        "import { Client } from 'discord.js'\nnew Client({ intents: [] })\n",
        "node dist/index.js --port {port}",
    ),
)


def _sharp(framework: str, package: str, code: str) -> Program:
    return Program(framework, (package,), "Program.cs", f"using System;\n{code}\n", "dotnet Shop.dll --port {port}")


_SHARP = (
    _sharp(
        "fast-endpoints", "FastEndpoints", "using FastEndpoints;\nvar app = WebApplication.CreateBuilder(args).Build();"
    ),
    _sharp(
        "hot-chocolate",
        "HotChocolate.AspNetCore",
        "using HotChocolate;\nvar builder = WebApplication.CreateBuilder(args);",
    ),
    _sharp(
        "orleans", "Microsoft.Orleans.Server", "using Orleans.Hosting;\nvar host = Host.CreateDefaultBuilder(args);"
    ),
    _sharp("avalonia", "Avalonia.Desktop", "using Avalonia;\nclass P { static void Main() {} }"),
)


def _scala(framework: str, artifact: str, module: str) -> Program:
    code = f"package shop\n\nimport {module}\n\nobject Shop {{\n  def main(args: Array[String]): Unit = ()\n}}\n"
    return Program(
        framework, (artifact,), "src/main/scala/shop/Shop.scala", code, "java -cp /srv shop.Shop --port={port}"
    )


_SCALA = (
    _scala("http4s", "org.http4s:http4s-ember-server", "org.http4s.ember.server.EmberServerBuilder"),
    _scala("tapir", "com.softwaremill.sttp.tapir:tapir-core", "sttp.tapir._"),
    _scala("cask", "com.lihaoyi:cask", "cask.main.Routes"),
    _scala("pekko-http", "org.apache.pekko:pekko-http", "org.apache.pekko.http.scaladsl.Http"),
    _scala("finatra", "com.twitter:finatra-http-server", "com.twitter.finatra.http.HttpServer"),
)
_GO = (
    golang_program("fiber", "github.com/gofiber/fiber/v3", "fiber.New()"),
    golang_program("goa", "goa.design/goa/v3", "goa.New()"),
    golang_program("kratos", "github.com/go-kratos/kratos/v2", "kratos.New()"),
    golang_program("fuego", "github.com/go-fuego/fuego", "fuego.NewServer()"),
    golang_program("pocketbase", "github.com/pocketbase/pocketbase", "pocketbase.New()"),
)
_RUST = (
    rust_program("loco", "loco-rs", "use loco_rs::app::Hooks;"),
    rust_program("rocket", "rocket", "#[macro_use] extern crate rocket;"),
    rust_program("tide", "tide", "use tide::Request;"),
    rust_program("async-graphql", "async-graphql", "use async_graphql::Schema;"),
    rust_program("pingora", "pingora", "use pingora::prelude::*;"),
)
_RUBY = (
    Program(
        "sinatra",
        ("sinatra",),
        "app.rb",
        "require 'sinatra/base'\n\nclass Shop < Sinatra::Base\nend\n",
        "bundle exec rackup -p {port}",
    ),
    Program("cuba", ("cuba",), "app.rb", 'require "cuba"\n\nCuba.define do\nend\n', "bundle exec rackup -p {port}"),
    Program(
        "camping",
        ("camping",),
        "app.rb",
        'require "camping"\n\nCamping.goes :Shop\n',
        "bundle exec camping app.rb -p {port}",
    ),
)


def _groups(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    text = (
        "[project]\nname = 'shop'\nversion = '0'\n"
        + f"dependencies = [{quoted([f'{name}>=0.1' for name in required])}]\n"
    )
    text += f"[project.optional-dependencies]\nextra = [{quoted(optional)}]\n" if optional else ""
    return {"pyproject.toml": text + f"[dependency-groups]\ntest = [{quoted(dev)}]\n"}


def _split(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    app = "".join(f"{name}==1.0\n" for name in required)
    tests = "-r app.txt\n" + "".join(f"{name}\n" for name in [*dev, *optional])
    return {
        "requirements.txt": "-r requirements/app.txt\n",
        "requirements/app.txt": app,
        "requirements/test.txt": tests,
    }


def _pnpm(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    body: dict[str, object] = {
        "name": "shop",
        "type": "module",
        "packageManager": "pnpm@10.11.0",
        "scripts": {"lint": "eslint ."},
    }
    body["dependencies"] = dict.fromkeys(required, "catalog:")
    body["devDependencies"] = dict.fromkeys([*dev, "typescript"], "catalog:")
    body["peerDependencies"] = dict.fromkeys(optional, "*")
    listed = "".join(f"  '{name}': ^3.1.0\n" for name in [*required, *dev, *optional])
    lock = "lockfileVersion: '9.0'\n"
    return {
        "package.json": body,
        "pnpm-lock.yaml": lock,
        "pnpm-workspace.yaml": f"catalog:\n{listed}",
        "tsconfig.json": "{}\n",
    }


_PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <TargetFramework>net10.0</TargetFramework>
    <OutputType>{}</OutputType>
  </PropertyGroup>
  <ItemGroup>
{}  </ItemGroup>
</Project>
"""


def _csproj(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    lines = "".join(f'    <PackageReference Include="{name}" />\n' for name in required)
    pins = "".join(
        f'    <PackageVersion Include="{name}" Version="3.0.0" />\n' for name in [*required, *dev, *optional]
    )
    tests = "".join(f'    <PackageReference Include="{name}" />\n' for name in [*dev, *optional, "xunit"])
    return {
        "Shop.csproj": _PROJECT.format("Exe", lines),
        "Directory.Packages.props": f"<Project>\n  <ItemGroup>\n{pins}  </ItemGroup>\n</Project>\n",
        "Shop.Tests/Shop.Tests.csproj": _PROJECT.format("Library", tests),
    }


def _sbt(required: Sequence[str], optional: Sequence[str], dev: Sequence[str]) -> Files:
    def item(name: str, scope: str = "") -> str:
        group, _, artifact = name.partition(":")
        return f'    "{group}" {"%%" if group != "org.postgresql" else "%"} "{artifact}" % "1.0"{scope}'

    wanted = [*map(item, required), *(item(name, ' % "optional"') for name in optional)]
    joined = ",\n".join([*wanted, *(item(name, " % Test") for name in dev)])
    text = 'lazy val shop = project\n  .in(file("."))\n  .settings(\n    scalaVersion := "3.7.0",\n    libraryDependencies ++= Seq(\n'
    return {"build.sbt": f"{text}{joined}\n    )\n  )\n", "project/build.properties": "sbt.version=1.11.0\n"}


ECOSYSTEMS = (
    Ecosystem("python", _PYTHON, {"postgresql": "psycopg", "mysql": "pymysql", "redis": "celery[redis]", "rabbitmq": "pika", "mongodb": "beanie"},
              (_groups, _split), "python:3.14-slim", "#", "tests/unit/test_web.py", "backend/experiments/old.py"),
    Ecosystem("node", _NODE, {"postgresql": "postgres", "mysql": "mysql2", "redis": "bullmq", "nats": "nats", "elasticsearch": "@elastic/elasticsearch"},
              (_pnpm,), "node:24-slim", "//", "tests/old.test.ts", "playground/old.ts"),
    Ecosystem("csharp", _SHARP, {"postgresql": "Npgsql", "redis": "StackExchange.Redis", "rabbitmq": "RabbitMQ.Client", "mongodb": "MongoDB.Driver"},
              (_csproj,), "mcr.microsoft.com/dotnet/sdk:10.0", "//", "Shop.Tests/OldTest.cs", "samples/Old.cs"),
    Ecosystem("scala", _SCALA, {"postgresql": "org.postgresql:postgresql", "kafka": "org.apache.kafka:kafka-clients"},
              (_sbt,), "sbtscala/scala-sbt:eclipse-temurin-21", "//", "src/test/scala/shop/ShopSpec.scala", "benchmarks/Old.scala"),
    Ecosystem("go", _GO, {"postgresql": "github.com/lib/pq", "mongodb": "go.mongodb.org/mongo-driver", "kafka": "github.com/segmentio/kafka-go", "redis": "github.com/redis/rueidis"},
              (go_mod,), "golang:1.26", "//", "internal/shop_test.go", "hack/old/main.go"),
    Ecosystem("rust", _RUST, {"postgresql": "sea-orm[sqlx-postgres]", "kafka": "rdkafka", "nats": "async-nats"},
              (cargo,), "rust:1.92", "//", "tests/api.rs", "examples/old.rs"),
    Ecosystem("ruby", _RUBY, {"postgresql": "pg", "redis": "sidekiq", "mongodb": "mongoid"},
              (gemfile,), "ruby:3.5", "#", "test/app_test.rb", "bin/old.rb"),
)  # fmt: skip


def _only_typed(draft: Draft) -> None:
    """Add an import that only a type checker reads."""
    if draft.eco.name == "python":
        for other in draft.others(1):
            draft.dev += other.packages
            first = next(line for line in other.code.splitlines() if other.packages[0] in line)
            code = draft.files[draft.program.path]
            draft.files[draft.program.path] = (
                f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    {first}\n{code}"
            )


def _for_development(draft: Draft) -> None:
    """Add a container and a compose file that are only worked with."""
    draft.files["Dockerfile.dev"] = f'FROM {draft.eco.image}\nEXPOSE 9229\nCMD ["make", "watch"]\n'
    draft.files["docker-compose.override.yml"] = (
        "services:\n  shop:\n    command: make watch\n    ports: ['3001:3001']\n"
    )
    draft.files["Makefile"] = "run:\n\tmake watch PORT=3002\n"


def _pipeline(draft: Draft) -> None:
    """Add tests in a pipeline, with a database of their own."""
    draft.files[".github/workflows/test.yml"] = (
        "on: push\njobs:\n  test:\n    services:\n      db:\n        image: mariadb:11\n        ports: ['3306:3306']\n"
        "    steps:\n      - run: docker build -t shop .\n"
    )


def _a_sibling(draft: Draft) -> None:
    """Add another program of the same language in a folder of its own."""
    for other in draft.others(1):
        made = draft.random.choice(draft.eco.manifests)(other.packages, [], [])
        draft.files |= {f"services/other/{path}": content for path, content in {**made, other.path: other.code}.items()}


PARTS: tuple[Part, ...] = (*AROUND, _only_typed, _for_development, _pipeline, _a_sibling)


def second_set(count: int = 400, seed: int = 38) -> list[Project]:
    return drawn(ECOSYSTEMS, PARTS, count, seed)
