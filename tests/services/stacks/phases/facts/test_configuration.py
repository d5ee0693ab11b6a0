"""Configuration files name ports, variables and health routes; values stay where they are."""

from __future__ import annotations

import pytest

from services.stacks.packages.discovery import find_packages
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.configuration import CodeFacts, read_configuration
from services.stacks.scan.scanner import Scanner
from tests.services.stacks.trees import Files, engine, tree_of

POM = "<project><artifactId>a</artifactId></project>"


def facts_of(files: Files) -> CodeFacts:
    scan = Scanner(engine().tables).scan(tree_of(files))
    survey = Survey(scan, find_packages(scan))
    facts = CodeFacts()
    read_configuration(survey, survey.packages[""], facts)
    return facts


def test_dotenv_gives_names_and_the_port_only() -> None:
    facts = facts_of(
        {"package.json": {}, ".env": "export API_KEY=hunter2\nPORT=4000\nNODE_VERSION=20\nVITE_URL=x\nHOME=/\n"}
    )
    assert (facts.env, facts.build_env, facts.configured) == (["API_KEY", "PORT"], ["VITE_URL"], [4000])
    assert "hunter2" not in repr(facts)


@pytest.mark.parametrize(
    ("path", "text", "port"),
    [
        ("src/main/resources/application.properties", "server.port=8081\n", 8081),
        ("src/main/resources/application.properties", "quarkus.http.port=${PORT:8082}\n", 8082),
        ("src/main/resources/application.yml", "server:\n  port: ${PORT:8083}\n", 8083),
        ("config/application.yaml", "micronaut:\n  server:\n    port: 8084\n", 8084),
        ("Properties/launchSettings.json", '{"applicationUrl": "https://localhost:7000;http://localhost:5000"}', 5000),
    ],
)
def test_settings_of_servers_name_their_port(path: str, text: str, port: int) -> None:
    assert facts_of({"pom.xml": POM, path: text}).configured == [port]


def test_a_broken_or_impossible_port_is_none() -> None:
    assert facts_of({"pom.xml": POM, "config/application.yml": "server: [\n"}).configured == []
    assert facts_of({"pom.xml": POM, "config/application.properties": "server.port=99999\n"}).configured == []


def test_the_path_of_an_actuator_is_a_health_route() -> None:
    text = "management.endpoints.web.base-path=/manage/\n"
    assert facts_of({"pom.xml": POM, "config/application.properties": text}).health == "/manage/health"


@pytest.mark.parametrize(
    ("path", "text", "port"),
    [
        ("src/main/resources/application.yaml", "ktor:\n  deployment:\n    port: 8090\n", 8090),
        (
            "src/main/resources/application.conf",
            "ktor {\n  deployment {\n    host = x\n    port = 8091\n  }\n}\n",
            8091,
        ),
        ("conf/application.conf", 'play.server.http.port = 9100\ndb.default.url="x"\n', 9100),
        ("src/main/resources/application.conf", "db {\n  port = 5432\n}\nhttp {\n  port = 8092\n}\n", 8092),
        (".streamlit/config.toml", "[server]\nport = 8502\n", 8502),
        ("gunicorn.conf.py", "import os\nbind = f'0.0.0.0:8101'\n", 8101),
        ("uwsgi.ini", "[uwsgi]\nhttp-socket = :8102\n", 8102),
        (".flaskenv", "FLASK_APP=shop\nFLASK_RUN_PORT=8103\n", 8103),
        ("config/puma.rb", 'threads 1, 5\nport ENV.fetch("PORT", 8104)\n', 8104),
        ("config/puma.rb", 'port        ENV.fetch("PORT") { 8105 }\n', 8105),
        ("config/puma.rb", "# port 1\nbind 'tcp://0.0.0.0'\n", None),
    ],
)
def test_settings_of_tools_name_their_port(path: str, text: str, port: int | None) -> None:
    assert facts_of({"pom.xml": POM, path: text}).configured == ([port] if port else [])
