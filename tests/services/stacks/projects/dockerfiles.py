"""Projects with Dockerfiles in the forms in which people write them; each label is what its author wrote down.

A stack says how its program is started and where it listens; a form says how that is written down, and where. The
labels are made of the stack's command and port by the form, before any detector sees the files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Files = dict[str, object]


@dataclass(frozen=True)
class Stack:
    """A program: its sources, the image that builds and the one that runs it, its command and its port."""

    name: str
    files: Mapping[str, object]
    image: str
    command: tuple[str, ...]
    port: int
    build: str = "make"


@dataclass(frozen=True)
class Labeled:
    """A project, and what its author says of one of its packages."""

    name: str
    files: Files
    command: tuple[str, ...]
    ports: tuple[int, ...]
    at: str = ""
    health: str | None = None
    file: str | None = None  #: that the command is read from
    shell: bool = False


STACKS = (
    Stack("express", {"package.json": {"name": "shop", "dependencies": {"express": "4"}, "scripts": {"start": "node index.js"}},
                      "index.js": "require('express')().listen(process.env.PORT || 4000)\n"},
          "node:22-alpine", ("node", "index.js"), 3100, "npm ci"),
    Stack("next", {"package.json": {"name": "web", "dependencies": {"next": "15", "react": "19"}, "scripts": {"dev": "next dev", "start": "next start"}},
                   "pages/index.tsx": "export default () => null\n", "tsconfig.json": "{}"},
          "node:22", ("node", "server.js"), 3005, "npm run build"),
    Stack("nest", {"package.json": {"name": "api", "dependencies": {"@nestjs/core": "11"}, "scripts": {"start:prod": "node dist/main"}},
                   "src/main.ts": "await app.listen(3000);\n", "tsconfig.json": "{}"},
          "node:22", ("node", "dist/main.js"), 3333, "npm run build"),
    Stack("bun", {"package.json": {"name": "b", "dependencies": {"hono": "4"}}, "bun.lock": "{}", "src/index.ts": "export default app\n"},
          "oven/bun:1", ("bun", "run", "src/index.ts"), 3210, "bun install"),
    Stack("fastapi", {"requirements.txt": "fastapi\nuvicorn\n", "app/main.py": "from fastapi import FastAPI\napp = FastAPI()\n"},
          "python:3.13-slim", ("uvicorn", "app.main:app", "--host", "0.0.0.0"), 8080, "pip install -r requirements.txt"),
    Stack("flask", {"requirements.txt": "flask\ngunicorn\n", "wsgi.py": "from flask import Flask\napp = Flask(__name__)\n"},
          "python:3.12", ("gunicorn", "-w", "4", "wsgi:app"), 8010, "pip install -r requirements.txt"),
    Stack("django", {"pyproject.toml": "[project]\nname = 'site'\ndependencies = ['django']\n", "manage.py": "import django\n", "site/wsgi.py": "application = 1\n"},
          "python:3.12", ("python", "manage.py", "runserver", "0.0.0.0:8200"), 8200, "pip install ."),
    Stack("go", {"go.mod": "module x\n\ngo 1.24\n", "main.go": "package main\nfunc main() { http.ListenAndServe(\":8080\", nil) }\n"},
          "golang:1.24", ("/bin/server",), 9090, "go build -o /bin/server ."),
    Stack("axum", {"Cargo.toml": '[package]\nname = "svc"\nversion = "0.1.0"\n[dependencies]\naxum = "0.8"\n', "src/main.rs": "fn main() {}\n"},
          "rust:1.85", ("/usr/local/bin/svc",), 3030, "cargo build --release"),
    Stack("spring", {"pom.xml": "<project><artifactId>s</artifactId><dependencies><dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId></dependency></dependencies></project>",
                     "src/main/java/A.java": "class A { public static void main(String[] a) {} }\n"},
          "eclipse-temurin:21-jre", ("java", "-jar", "/app/app.jar"), 8085, "mvn package"),
    Stack("dotnet", {"Api.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFramework>net9.0</TargetFramework></PropertyGroup></Project>', "Program.cs": "var b = 1;\n"},
          "mcr.microsoft.com/dotnet/aspnet:9.0", ("dotnet", "Api.dll"), 5080, "dotnet publish"),
    Stack("rails", {"Gemfile": "gem 'rails'\n", "config/application.rb": "1\n"},
          "ruby:3.4", ("bin/rails", "server", "-b", "0.0.0.0"), 3040, "bundle install"),
    Stack("php", {"composer.json": {"require": {"slim/slim": "4"}}, "public/index.php": "<?php\n"},
          "php:8.4-cli", ("php", "-S", "0.0.0.0:8600", "-t", "public"), 8600, "composer install"),
)  # fmt: skip


def _exec(words: tuple[str, ...]) -> str:
    return json.dumps(list(words))


def _plain(stack: Stack, path: str = "Dockerfile", extra: str = "") -> Files:
    text = f"FROM {stack.image}\nWORKDIR /app\nCOPY . .\nRUN {stack.build}\n{extra}EXPOSE {stack.port}\nCMD {_exec(stack.command)}\n"
    return {**stack.files, path: text}


def _case(stack: Stack, form: str, files: Files, **more: object) -> Labeled:
    told = {"command": stack.command, "ports": (stack.port,), "file": "Dockerfile", **more}
    return Labeled(f"{stack.name}: {form}", files, **told)  # type: ignore[arg-type]


def exec_form(stack: Stack) -> Labeled:
    return _case(stack, "exec form", _plain(stack))


def shell_form(stack: Stack) -> Labeled:
    text = f"FROM {stack.image}\nEXPOSE {stack.port}/tcp\nCMD {' '.join(stack.command)}\n"
    return _case(stack, "shell form", {**stack.files, "Dockerfile": text})


def lower_case_and_comments(stack: Stack) -> Labeled:
    text = (
        f'# syntax=docker/dockerfile:1\nfrom {stack.image}\n# CMD ["old"]\nrun echo a \\\n  # EXPOSE 1\n  && echo b\n'
        f"expose {stack.port}\ncmd {_exec(stack.command)}\n"
    )
    return _case(stack, "lower case and comments", {**stack.files, "Dockerfile": text})


def builder_then_runner(stack: Stack) -> Labeled:
    text = (
        f'FROM {stack.image} AS build\nEXPOSE 1234\nCMD ["sleep", "1"]\nRUN {stack.build}\n\nFROM debian:12-slim\n'
        f"COPY --from=build /app /app\nEXPOSE {stack.port}\nENTRYPOINT {_exec(stack.command)}\n"
    )
    return _case(stack, "builder then runner", {**stack.files, "Dockerfile": text})


def base_then_final(stack: Stack) -> Labeled:
    text = (
        f"FROM {stack.image} AS Base\nWORKDIR /app\nEXPOSE {stack.port}\n\nFROM golang AS build\nRUN {stack.build}\n\n"
        f"FROM base AS final\nCOPY --from=build /x .\nENTRYPOINT {_exec(stack.command)}\n"
    )
    return _case(stack, "ports of the base stage", {**stack.files, "Dockerfile": text})


def inherited_command(stack: Stack) -> Labeled:
    text = (
        f"ARG IMAGE={stack.image}\nFROM $IMAGE AS runner\nENV PORT={stack.port}\nEXPOSE ${{PORT}}\nCMD {_exec(stack.command)}\n"
        "FROM runner AS debug\nRUN true\nEXPOSE 9229\nFROM runner AS prod\nENV MODE=prod\n"
    )
    return _case(stack, "command of the stage it is made from", {**stack.files, "Dockerfile": text})


def entry_and_command(stack: Stack) -> Labeled:
    text = f'FROM {stack.image}\nARG P={stack.port}\nEXPOSE $P\nENTRYPOINT ["tini", "--"]\nCMD {_exec(stack.command)}\n'
    return _case(
        stack, "entry point and arguments", {**stack.files, "Dockerfile": text}, command=("tini", "--", *stack.command)
    )


def reset_by_entry(stack: Stack) -> Labeled:
    text = (
        f'FROM {stack.image} AS a\nCMD ["old", "arguments"]\nFROM a\nEXPOSE {stack.port}\n'
        f"ENTRYPOINT {_exec(stack.command)}\n"
    )
    return _case(stack, "an entry point drops inherited arguments", {**stack.files, "Dockerfile": text})


def port_in_variable(stack: Stack) -> Labeled:
    text = f"FROM {stack.image}\nENV A=1 \\\n    PORT={stack.port}\nCMD {_exec(stack.command)}\n"
    ports = (8200,) if stack.name == "django" else (8600,) if stack.name == "php" else (stack.port,)
    return _case(stack, "port in a variable", {**stack.files, "Dockerfile": text}, ports=ports)


def port_in_check(stack: Stack) -> Labeled:
    text = (
        f"FROM {stack.image}\nHEALTHCHECK --interval=30s CMD wget -qO- http://localhost:{stack.port}/ready || exit 1\n"
        f"CMD {_exec(stack.command)}\n"
    )
    ports = () if stack.name == "dotnet" else (stack.port,)
    return _case(
        stack, "port in the check", {**stack.files, "Dockerfile": text}, ports=ports or (5080,), health="/ready"
    )


def here_document(stack: Stack) -> Labeled:
    text = (
        f"FROM {stack.image}\nRUN <<EOT\nset -e\nCMD nothing\nEXPOSE 1\n{stack.build}\nEOT\n"
        f'EXPOSE {stack.port}\nCMD {_exec(stack.command)}\nONBUILD CMD ["never"]\n'
    )
    return _case(stack, "here-document", {**stack.files, "Dockerfile": text})


def shell_with_variable(stack: Stack) -> Labeled:
    line = " ".join(stack.command) + " --name ${NAME:-x} && true"
    text = f"FROM {stack.image}\nEXPOSE {stack.port}\nCMD {line}\n"
    return _case(stack, "a shell is needed", {**stack.files, "Dockerfile": text}, command=("sh", "-c", line))


def several_files(stack: Stack) -> Labeled:
    files = _plain(stack, "Dockerfile.prod")
    files["Dockerfile.dev"] = f'FROM {stack.image}\nEXPOSE 1111\nCMD ["watch"]\n'
    files["Dockerfile.test"] = f'FROM {stack.image}\nCMD ["run-tests"]\n'
    files[".devcontainer/Dockerfile"] = 'FROM ubuntu\nCMD ["sleep", "infinity"]\n'
    return _case(stack, "the one for production", files, file="Dockerfile.prod")


def compose_elsewhere(stack: Stack) -> Labeled:
    files = _plain(stack, "containers/app/Dockerfile")
    files["docker-compose.yml"] = (
        "services:\n  db:\n    image: postgres:17\n  app:\n    build:\n      context: .\n"
        "      dockerfile: containers/app/Dockerfile\n    depends_on: [db]\n"
    )
    return _case(stack, "compose names the file", files, file="containers/app/Dockerfile")


def compose_develops(stack: Stack) -> Labeled:
    files = _plain(stack)
    files["compose.yaml"] = (
        f"services:\n  app:\n    build: .\n    command: watch --reload\n    ports:\n      - '80:{stack.port}'\n      - 9229:9229\n"
    )
    return _case(stack, "compose runs it for development", files)


def deep_folder(stack: Stack) -> Labeled:
    return _case(stack, "build/package", _plain(stack, "build/package/Dockerfile"), file="build/package/Dockerfile")


def named_by_workflow(stack: Stack) -> Labeled:
    files = _plain(stack, "ops/images/service.Dockerfile")
    files["ops/images/lint.Dockerfile"] = 'FROM alpine\nCMD ["lint"]\n'
    files[".github/workflows/release.yml"] = (
        "jobs:\n  image:\n    steps:\n      - run: docker build --pull -t x -f ops/images/service.Dockerfile .\n"
    )
    return _case(stack, "a workflow names the file", files, file="ops/images/service.Dockerfile")


def named_by_action(stack: Stack) -> Labeled:
    files = _plain(stack, "docker/Dockerfile.release")
    files[".github/workflows/ci.yml"] = (
        "jobs:\n  x:\n    steps:\n      - uses: docker/build-push-action@v6\n        with:\n          context: .\n"
        "          file: docker/Dockerfile.release\n          push: true\n      - run: echo\n"
    )
    return _case(stack, "an action names the file", files, file="docker/Dockerfile.release")


def named_by_bake(stack: Stack) -> Labeled:
    files = _plain(stack, "images/run/Dockerfile", "")
    files["docker-bake.hcl"] = (
        'group "default" {\n  targets = ["a"]\n}\ntarget "a" {\n  context = "."\n  dockerfile = "images/run/Dockerfile"\n}\n'
    )
    return _case(stack, "a bake file names the file", files, file="images/run/Dockerfile")


def _moved(stack: Stack, folder: str) -> Files:
    return {f"{folder}/{path}": content for path, content in stack.files.items()}


def member_with_own(stack: Stack) -> Labeled:
    files = {**_moved(stack, "services/orders"), **_moved(STACKS[0], "services/users")}
    files["services/orders/Dockerfile"] = (
        f"FROM {stack.image}\nCOPY . .\nEXPOSE {stack.port}\nCMD {_exec(stack.command)}\n"
    )
    files["services/users/Dockerfile"] = 'FROM node\nEXPOSE 7\nCMD ["node", "users.js"]\n'
    return _case(stack, "a member's own file", files, at="services/orders", file="services/orders/Dockerfile")


def root_for_member(stack: Stack) -> Labeled:
    files = {**_moved(stack, "apps/api"), "libs/util/package.json": {"name": "util"}, "libs/util/a.js": "1\n"}
    files["package.json"] = {"private": True, "workspaces": ["apps/*", "libs/*"]}
    files["Dockerfile"] = (
        f"FROM {stack.image}\nCOPY libs/util libs/util\nCOPY apps/api apps/api\nWORKDIR /app/apps/api\n"
        f"EXPOSE {stack.port}\nCMD {_exec(stack.command)}\n"
    )
    return _case(stack, "a file at the root for a member", files, at="apps/api")


def folder_of_files(stack: Stack) -> Labeled:
    files = {**_moved(stack, "backend"), **_moved(STACKS[1], "frontend")}
    files["docker/backend/Dockerfile"] = (
        f"FROM {stack.image}\nCOPY backend/ /app\nEXPOSE {stack.port}\nCMD {_exec(stack.command)}\n"
    )
    files["docker/frontend/Dockerfile"] = "FROM nginx\nCOPY frontend/dist /usr/share/nginx/html\n"
    return _case(stack, "a folder of Dockerfiles", files, at="backend", file="docker/backend/Dockerfile")


def compose_gives_arguments(stack: Stack) -> Labeled:
    files = {**stack.files, "Dockerfile": f"FROM {stack.image}\nENTRYPOINT {_exec(stack.command)}\n"}
    files["compose.yaml"] = (
        f"services:\n  app:\n    build: .\n    command: [serve, --fast]\n    expose: [{stack.port}]\n"
    )
    ports = {"django": (8200,), "php": (8600,), "dotnet": (8080,)}.get(stack.name, (stack.port,))
    return _case(stack, "compose gives the arguments", files, command=(*stack.command, "serve", "--fast"), ports=ports)


FORMS: tuple[Callable[[Stack], Labeled], ...] = (
    exec_form, shell_form, lower_case_and_comments, builder_then_runner, base_then_final, inherited_command,
    entry_and_command, reset_by_entry, port_in_variable, port_in_check, here_document, shell_with_variable,
    several_files, compose_elsewhere, compose_develops, deep_folder, named_by_workflow, named_by_action, named_by_bake,
    member_with_own, root_for_member, folder_of_files, compose_gives_arguments,
)  # fmt: skip


def _others() -> Iterator[Labeled]:
    """Images that bring their own command."""
    page: Files = {
        "package.json": {"name": "p", "scripts": {"build": "vite build"}, "devDependencies": {"vite": "6"}},
        "index.html": "<p>\n",
    }
    for image, command, port in (
        ("nginx:1.27-alpine", ("nginx", "-g", "daemon off;"), 80), ("docker.io/library/nginx", ("nginx", "-g", "daemon off;"), 80),
        ("nginxinc/nginx-unprivileged:stable", ("nginx", "-g", "daemon off;"), 8080), ("httpd:2.4", ("httpd-foreground",), 80),
        ("caddy:2", ("caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"), 80),
    ):  # fmt: skip
        text = f"FROM node:22 AS build\nRUN npm run build\nFROM {image}\nCOPY --from=build /app/dist /srv\n"
        yield Labeled(f"page: {image}", {**page, "Dockerfile": text}, command, (port,), file="Dockerfile")
    for image, command, port in (
        ("php:8.4-apache", ("apache2-foreground",), 80), ("php:8.4-fpm-alpine", ("php-fpm",), 9000),
    ):  # fmt: skip
        files: Files = {"composer.json": {"require": {"php": "^8"}}, "index.php": "<?php\n"}
        yield Labeled(
            f"php: {image}", {**files, "Dockerfile": f"FROM {image}\nCOPY . .\n"}, command, (port,), file="Dockerfile"
        )


LABELED = [*(form(stack) for stack in STACKS for form in FORMS), *_others()]
