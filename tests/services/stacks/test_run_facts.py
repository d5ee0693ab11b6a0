"""Commands, ports and checks: which file each is read from, and what is only usual."""

from __future__ import annotations

import pytest

from shared.contracts.detect import FactTrail, Runtime
from tests.services.stacks.projects.dockerfiles import LABELED, Labeled
from tests.services.stacks.trees import Files, detected, service, warned


def runtime(files: Files, path: str = "") -> Runtime:
    return service(detected(files), path).runtime


def place(trail: FactTrail | None) -> tuple[str, str | None, int | None]:
    assert trail is not None
    at = trail.evidence
    return trail.source, at.file if at else None, at.line if at else None


def test_there_are_more_than_two_hundred_labeled_projects() -> None:
    assert len({case.name for case in LABELED}) > 200


@pytest.mark.parametrize("case", LABELED, ids=lambda case: case.name)
def test_a_project_is_run_as_its_dockerfile_says(case: Labeled) -> None:
    facts = runtime(case.files, case.at)
    assert (tuple(facts.command), tuple(facts.ports)) == (case.command, case.ports)
    assert place(facts.trail.command)[:2] == ("dockerfile", case.file)
    if case.health is not None:
        assert facts.health is not None
        assert facts.health.endpoint == case.health


@pytest.mark.parametrize("case", LABELED, ids=lambda case: case.name)
def test_the_cited_line_says_what_it_is_cited_for(case: Labeled) -> None:
    trail = runtime(case.files, case.at).trail
    cited = [(trail.command, runtime(case.files, case.at).command[-1:])]
    for origin, words in cited:
        assert origin is not None
        assert origin.evidence is not None
        assert origin.evidence.line is not None
        line = str(case.files[origin.evidence.file]).split("\n")[origin.evidence.line - 1]
        assert line.strip().upper().startswith(("CMD", "ENTRYPOINT", "FROM")), (line, words)


FLASK = {"requirements.txt": "flask==3.0.0\n", "srv/app.py": "import flask\n"}
WORKSPACE: Files = {
    "package.json": {"name": "r", "private": True},
    "pnpm-workspace.yaml": "packages:\n  - apps/*\n",
    "apps/api/package.json": {"name": "@x/api", "scripts": {"build": "tsc"}, "dependencies": {"express": "4.19.2"}},
    "apps/api/src/app.ts": 'import express from "express"\n',
    "apps/web/package.json": {"name": "@x/web", "dependencies": {"vue": "3"}},
    "apps/web/src/app.ts": "1\n",
}
RUN = "python srv/app.py --port 9000"


@pytest.mark.parametrize(
    ("name", "text", "source", "line"),
    [
        ("railway.toml", f'[deploy]\nstartCommand = "{RUN}"\n', "platform", 2),
        ("railway.json", f'{{\n "deploy": {{\n  "startCommand": "{RUN}"}}}}', "platform", 3),
        ("heroku.yml", f"build:\n  docker:\n    web: Dockerfile\nrun:\n  web: {RUN}\n", "platform", 5),
        ("heroku.yml", f"run:\n  web:\n    command:\n      - {RUN}\n", "platform", 4),
        ("nixpacks.toml", f'[phases.build]\ncmds = ["x"]\n[start]\ncmd = "{RUN}"\n', "platform", 4),
        ("railpack.json", f'{{"deploy":\n {{"startCommand": "{RUN}"}}}}', "platform", 2),
        ("zbpack.json", f'{{"start_command": "{RUN}"}}', "platform", 1),
        ("fly.toml", f'app = "a"\n[processes]\nworker = "w"\napp = "{RUN}"\n', "platform", 4),
        ("render.yaml", f"services:\n  - type: web\n    startCommand: {RUN}\n", "platform", 3),
        (".do/app.yaml", f"services:\n  - name: a\n    run_command: {RUN}\n", "platform", 3),
        ("app.yaml", f"runtime: python313\nentrypoint: {RUN}\n", "platform", 2),
        ("apprunner.yaml", f"version: 1.0\nrun:\n  command: {RUN}\n", "platform", 3),
        ("deploy/shop.service", f"[Unit]\n[Service]\nExecStart={RUN}\n", "platform", 3),
        ("Procfile", f"release: python migrate.py\nweb: {RUN}\n", "procfile", 2),
        ("Pipfile", f'[packages]\nflask = "*"\n[scripts]\nstart = "{RUN}"\n', "manifest", 4),
    ],
)
def test_a_file_says_how_the_program_is_started(name: str, text: str, source: str, line: int) -> None:
    facts = runtime({**FLASK, name: text})
    words = ["python srv/app.py --port 9000"] if "- python" in text and "command:\n" in text else RUN.split()
    assert (facts.command, facts.ports) == (words, [9000])
    assert place(facts.trail.command) == (source, name, line)


def test_what_no_file_says_is_a_default_and_never_sure() -> None:
    facts = runtime(FLASK)
    assert facts.command == ["flask", "run", "--host=0.0.0.0"]
    for origin in (facts.trail.command, facts.trail.ports):
        assert place(origin) == ("default", None, None)
        assert origin is not None
        assert origin.confidence <= 0.5
    assert facts.trail.health is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("railway.toml", '[deploy]\nstartCommand = "node apps/api/dist/app.js"\nhealthcheckPath = "/health"\n'),
        ("Procfile", "web: node apps/api/dist/app.js\n"), ("Procfile", "web: pnpm --filter @x/api start\n"),
        ("Procfile", "web: cd apps/api && node dist/app.js\n"), ("heroku.yml", "run:\n  web: pnpm --filter=@x/api start\n"),
        ("fly.toml", '[processes]\napp = "npm start -w @x/api"\n'), ("nixpacks.toml", '[start]\ncmd = "yarn workspace @x/api start"\n'),
    ],
)  # fmt: skip
def test_a_file_at_the_root_starts_the_member_that_it_names(name: str, text: str) -> None:
    result = detected({**WORKSPACE, name: text})
    facts = service(result, "apps/api").runtime
    trail = facts.trail.command
    assert trail is not None
    assert trail.evidence is not None
    assert (trail.evidence.file, service(result, "apps/web").runtime.trail.command) == (name, None)
    assert result.services[0].path == "apps/api"
    if "health" in text:
        assert facts.health is not None
        assert (facts.health.endpoint, place(facts.trail.health)) == ("/health", ("platform", "railway.toml", 3))


def test_an_image_may_be_named_by_the_platform() -> None:
    image = "FROM python\nEXPOSE 7000\nCMD python srv/app.py\n"
    for name, text in (
        ("fly.toml", '[build]\ndockerfile = "ops/web.image/Dockerfile"\n'),
        ("railway.json", '{"build": {"dockerfilePath": "ops/web.image/Dockerfile"}}'),
        ("heroku.yml", "build:\n  docker:\n    web: ops/web.image/Dockerfile\n"),
        ("captain-definition", '{"schemaVersion": 2, "dockerfilePath": "./ops/web.image/Dockerfile"}'),
    ):
        other = {"ops/aux.image/Dockerfile": "FROM x\nCMD aux\n"}
        facts = runtime({**FLASK, name: text, **other, "ops/web.image/Dockerfile": image})
        assert (facts.command, facts.ports) == (["python", "srv/app.py"], [7000]), name


CHECKS = (
    ("app.json", '{"healthchecks": {"web": [\n{"type": "startup", "path": "/alive", "port": 4300}]}}', "/alive", 2),
    ("fly.toml", '[http_service]\ninternal_port = 4300\n[[http_service.checks]]\npath = "/alive"\n', "/alive", 4),
    ("railway.toml", '[deploy]\nhealthcheckPath = "/alive"\n', "/alive", 2),
    ("render.yaml", "services:\n  - type: web\n    healthCheckPath: /alive\n", "/alive", 3),
)


@pytest.mark.parametrize(("name", "text", "path", "line"), CHECKS)
def test_a_platform_names_the_check(name: str, text: str, path: str, line: int) -> None:
    facts = runtime({**FLASK, name: text})
    assert facts.health is not None
    assert (facts.health.endpoint, place(facts.trail.health)) == (path, ("platform", name, line))
    if "4300" in text:
        assert facts.ports == [4300]


@pytest.mark.parametrize(
    ("name", "text", "ports"),
    [
        ("src/index.js", "fetch('http://localhost:9999/x');\nrequire('express')().listen(4100)\n", [4100]),
        ("src/setupProxy.js", "app.use(createProxyMiddleware({ target: 'http://127.0.0.1:9999' }))\n", [3000]),
        ("vite.config.js", "export default { server: { proxy: { '/api': { target: 'http://localhost:9999', port: 9998 } }, port: 4200 } }\n", [4200]),
        ("vite.config.ts", "export default { server: { hmr: { port: 9999 } } }\n", [3000]),
        ("src/server.js", "const db = { host: 'x', port: 5432 };\nconst mail = { port: 587 };\nconst port = 4300;\n", [4300]),
        ("next.config.js", "module.exports = { rewrites: () => [{ destination: 'http://localhost:9999/:path*' }] }\n", [3000]),
    ],
)  # fmt: skip
def test_addresses_of_others_are_not_the_service_s_port(name: str, text: str, ports: list[int]) -> None:
    files = {"package.json": {"name": "a", "dependencies": {"express": "4"}}, "lib/a.js": "1\n", name: text}
    assert runtime(files).ports == ports


@pytest.mark.parametrize(
    ("name", "text", "path", "line"),
    [
        ("app.py", "from fastapi import FastAPI\napp = FastAPI()\nSKIP = ['/health']\n@app.get('/healthz')\ndef h(): ...\n", "/healthz", 4),
        ("app.py", "from fastapi import FastAPI\napp = FastAPI()\nhttpx.get('/health')\n", None, None),
        ("app.py", "from fastapi import FastAPI\napp = FastAPI()\napp.add_api_route('/readyz', ready)\n", "/readyz", 3),
        ("urls.py", "urlpatterns = [path('health/', views.health)]\n", "/health/", 1),
    ],
)  # fmt: skip
def test_a_route_is_a_check_and_a_name_in_a_list_is_none(
    name: str, text: str, path: str | None, line: int | None
) -> None:
    facts = runtime({"requirements.txt": "fastapi\n", name: text})
    assert (facts.health.endpoint if facts.health else None) == path
    if line is not None:
        assert place(facts.trail.health) == ("code", name, line)


@pytest.mark.parametrize(
    ("manifest", "name", "text"),
    [
        ({"go.mod": "module a\nrequire github.com/go-chi/chi/v5 v5.1.0\n"}, "main.go", 'package main\nfunc main() {\n mux.HandleFunc("GET /healthz", ok)\n}\n'),
        ({"Cargo.toml": '[package]\nname="a"\n[dependencies]\naxum="0.8"\n'}, "src/main.rs", 'fn main() {\n\n Router::new().route("/healthz", get(ok));\n}\n'),
        ({"a.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web"></Project>'}, "Program.cs", '\n\napp.MapHealthChecks("/healthz");\n'),
        ({"package.json": {"dependencies": {"fastify": "5"}}}, "server.js", "\n\nfastify.route({ method: 'GET', url: '/healthz' })\n"),
        ({"Gemfile": "gem 'sinatra'\n"}, "app.rb", "\n\nget '/healthz' do\nend\n"),
    ],
)  # fmt: skip
def test_routes_of_every_language_are_checks(manifest: Files, name: str, text: str) -> None:
    facts = runtime({**manifest, name: text})
    assert facts.health is not None
    assert (facts.health.endpoint, place(facts.trail.health)) == ("/healthz", ("code", name, 3))


def test_a_broken_platform_file_is_named_with_its_line() -> None:
    for name, text in (
        ("railway.toml", "a = 1\nb = \n"),
        ("fly.toml", "[a\n"),
        ("heroku.yml", "a: [\n"),
        ("zbpack.json", "{\n x}"),
    ):
        assert [warning for warning in warned({**FLASK, name: text}) if warning.startswith(f"{name}:")], name


def test_a_container_that_only_idles_starts_nothing() -> None:
    for idle in ('CMD ["sleep", "infinity"]', "CMD bash", "CMD tail -f /dev/null", 'ENTRYPOINT ["/bin/sh"]'):
        assert place(runtime({**FLASK, "Dockerfile": f"FROM python\n{idle}\n"}).trail.command)[0] == "default", idle


def test_scripts_of_a_manifest_are_cited_by_their_line() -> None:
    package = '{\n "name": "a",\n "scripts": {\n  "build": "x",\n  "start": "node a.js --port 4700"\n }\n}'
    facts = runtime({"package.json": package, "a.js": "1\n"})
    assert (facts.command, place(facts.trail.command)) == (["npm", "start"], ("manifest", "package.json", 5))
    assert (facts.ports, place(facts.trail.ports)) == ([4700], ("manifest", "package.json", 5))
    script = "[project]\nname = 'shop'\ndependencies = ['click']\n[project.scripts]\nshop = 'shop.cli:main'\n"
    facts = runtime({"pyproject.toml": script, "shop/cli.py": "def main(): ...\n"})
    assert (facts.command, place(facts.trail.command)) == (["shop"], ("manifest", "pyproject.toml", 5))


def test_the_files_of_one_source_are_read_under_a_budget() -> None:
    files = {f"d{number}/Procfile": "web: ruby a.rb\n" for number in range(2100)}
    warnings = warned({**files, "go.mod": "module a\n", "main.go": "package main\n"})
    assert warnings == ["only the first 2,000 files that say how packages are run were read"]


def test_an_image_of_the_root_that_copies_the_pages_of_a_member_is_the_root_s() -> None:
    files = {
        "pyproject.toml": "[project]\nname = 'shop'\ndependencies = ['fastapi']\n", "shop/main.py": "from fastapi import FastAPI\n",
        "console/package.json": {"name": "console", "dependencies": {"react": "19"}}, "console/src/a.js": "1\n",
        "deploy/helm/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
        "deploy/shop/Dockerfile": "FROM python\nCOPY console/dist console/dist\nCOPY shop shop\nEXPOSE 8123\nCMD python -m shop.main\n",
        "docker-compose.yml": "services:\n  a:\n    build: {context: ., dockerfile: deploy/shop/Dockerfile}\n",
    }  # fmt: skip
    facts = runtime(files)
    assert (facts.command, facts.ports) == (["python", "-m", "shop.main"], [8123])
    assert runtime(files, "console").trail.command is None
