"""A web application in one file is a service, with or without pages next to it; a script is none."""

from __future__ import annotations

import pytest

from services.stacks.outputs.dockerfile import dockerfile
from tests.services.stacks.trees import Files, detected, engine

FLASK = "import os\nfrom flask import Flask\n\napp = Flask(__name__)\napp.run(port=5050)\n"


@pytest.mark.parametrize(
    "beside",
    [{}, {"index.html": "<html>" * 500}, {"templates/index.html": "<html>" * 500}, {"Procfile": "web: flask run --port=5050\n"}],
)  # fmt: skip
def test_a_flask_application_without_a_manifest_is_a_service(beside: Files) -> None:
    (service,) = detected({"app.py": FLASK, **beside}).services
    assert (service.role, service.primary.language, service.primary.framework) == ("app", "python", "flask")
    flask = next(candidate for candidate in service.candidates if candidate.id == "flask")
    assert (flask.evidence[0].file, flask.evidence[0].line) == ("app.py", 2)
    assert (service.runtime.ports, service.build.commands) == ([5050], ["pip install flask"])


def test_its_container_listens_on_the_port_of_its_code() -> None:
    text = dockerfile(detected({"app.py": FLASK}), engine().rules)
    assert "EXPOSE 5050" in text
    assert '"--port=5050"' in text


@pytest.mark.parametrize(
    "files",
    [
        {"app.py": "import flask\nprint(flask.__version__)\n"},
        {"app.py": "app = Flask(__name__)\n"},
        {"tests/app.py": FLASK},
        {"tool.py": FLASK},
    ],
)
def test_a_script_is_no_service(files: Files) -> None:
    assert detected(files).services == []


def test_a_manifest_counts_more_than_imports() -> None:
    (service,) = detected(
        {"pyproject.toml": '[project]\nname = "shop"\ndependencies = ["fastapi"]\n', "app.py": FLASK}
    ).services
    assert (service.name, service.primary.framework) == ("shop", "fastapi")
