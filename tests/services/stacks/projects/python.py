"""Python: managers, backends, frameworks, versions."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case

PY = {"app.py": "print('hello')\n"}


def project(*wanted: str, extra: str = "", python: str = "") -> str:
    listed = ", ".join(f'"{one}"' for one in wanted)
    requires = f'requires-python = "{python}"\n' if python else ""
    return f'[project]\nname = "thing"\nversion = "0.1"\n{requires}dependencies = [{listed}]\n{extra}'


_FRAMEWORKS = {
    "django": "Django", "flask": "Flask", "fastapi": "fastapi[standard]", "starlette": "starlette", "litestar": "litestar",
    "sanic": "sanic", "aiohttp": "aiohttp", "tornado": "tornado", "bottle": "bottle", "falcon": "falcon", "pyramid": "pyramid",
    "quart": "quart", "streamlit": "streamlit", "gradio": "gradio", "dash": "dash", "airflow": "apache-airflow",
    "dagster": "dagster", "celery": "celery", "mkdocs": "mkdocs", "sphinx": "Sphinx",
}  # fmt: skip
FRAMEWORKS = [
    Case(f"a project that requires {package} uses {id}", {"pyproject.toml": project(f"{package}>=1"), **PY},
         language="python", framework=id, runtime="python", build="pip")
    for id, package in _FRAMEWORKS.items()
]  # fmt: skip

MANAGERS = [
    Case("requirements are pip's", {"requirements.txt": "flask==3.0.0\n", **PY}, build="pip", manager="pip", framework="flask",
         commands=("pip install -r requirements.txt",)),
    Case("PEP 621 alone is pip's", {"pyproject.toml": project("flask"), **PY}, build="pip", commands=("pip install .",)),
    Case("setup.py is pip's", {"setup.py": "from setuptools import setup\nsetup(name='old', python_requires='>=3.8', install_requires=['flask>=2', 'x'])\n", "old/__init__.py": "x = 1\n"},
         build="pip", framework="flask", versions={"python": ">=3.8"}, role="library"),
    Case("setup.cfg is pip's", {"setup.cfg": "[metadata]\nname = c\n[options]\ninstall_requires =\n    tornado>=6\n", **PY}, build="pip", framework="tornado"),
    Case("a uv.lock is uv's", {"pyproject.toml": project("fastapi"), "uv.lock": "version = 1\n", **PY}, build="uv", manager="uv", commands=("uv sync --frozen",)),
    Case("[tool.uv] is uv's", {"pyproject.toml": project("fastapi", extra="[tool.uv]\ndev-dependencies = []\n"), **PY}, build="uv"),
    Case("[tool.poetry] is poetry's", {"pyproject.toml": "[tool.poetry]\nname = 'p'\n[tool.poetry.dependencies]\npython = '^3.11'\nflask = '^3'\n[tool.poetry.group.dev.dependencies]\npytest = '*'\n", **PY},
         build="poetry", framework="flask", versions={"python": "^3.11"}),
    Case("poetry 2 without its section is told by its backend", {"pyproject.toml": project("flask", extra="[build-system]\nbuild-backend = 'poetry.core.masonry.api'\n"), **PY}, build="poetry"),
    Case("a poetry.lock is poetry's", {"pyproject.toml": project("flask"), "poetry.lock": "", **PY}, build="poetry"),
    Case("hatchling proves no manager", {"pyproject.toml": project("flask", extra="[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"), **PY}, build="pip"),
    Case("hatch environments are hatch's", {"pyproject.toml": project("flask", extra="[tool.hatch.envs.default]\ndependencies = ['pytest']\n"), **PY}, build="hatch"),
    Case("a pdm.lock is pdm's", {"pyproject.toml": project("flask"), "pdm.lock": "", **PY}, build="pdm"),
    Case("[tool.pdm] is pdm's", {"pyproject.toml": project("flask", extra="[tool.pdm]\ndistribution = false\n"), **PY}, build="pdm"),
    Case("a Pipfile is pipenv's", {"Pipfile": "[packages]\nflask = '*'\n[requires]\npython_version = '3.11'\n", **PY}, build="pipenv", framework="flask", versions={"python": "3.11"}),
    Case("environment.yml is conda's", {"environment.yml": "name: e\ndependencies:\n  - python=3.10\n  - numpy\n  - pip:\n    - streamlit\n", **PY}, build="conda", framework="streamlit", versions={"python": "3.10"}),
    Case("pixi.toml is pixi's", {"pixi.toml": "[project]\nname = 'x'\n[dependencies]\npython = '3.12.*'\n[pypi-dependencies]\nflask = '*'\n", **PY}, build="pixi", framework="flask"),
    Case("uv wins over poetry, pdm and pip", {"pyproject.toml": project("flask"), "uv.lock": "", "poetry.lock": "", "pdm.lock": "", "requirements.txt": "flask\n", **PY}, build="uv",
         candidates=(("build_system", "poetry"), ("build_system", "pip"))),
    Case("a section that only configures tools proves no manager", {"pyproject.toml": "[tool.ruff]\nline-length = 100\n", **PY}, language="python", build="pip"),
    Case("a comment about poetry is no poetry", {"requirements.txt": "# we left poetry\nflask\n", **PY}, build="pip"),
    Case("requirements in a folder of their own", {"setup.py": "setup(name='x')\n", "requirements/base.txt": "Django>=4\n", "x/a.py": "1\n"}, language="python", paths=("",)),
]  # fmt: skip

RANKS = [
    Case("fastapi stands over starlette", {"requirements.txt": "starlette\nfastapi\nuvicorn\n", **PY}, framework="fastapi", candidates=(("framework", "starlette"),)),
    Case("dash stands over flask", {"requirements.txt": "flask\ndash\n", **PY}, framework="dash"),
    Case("django stands over celery", {"requirements.txt": "celery\ndjango\n", **PY}, framework="django"),
    Case("a test dependency is no framework", {"pyproject.toml": project("requests", extra="[project.optional-dependencies]\ntest = ['flask']\n"), **PY}, framework=None),
    Case("names that only look alike are none", {"requirements.txt": "flask-cors-lite\ndjango-environ-2\nfastapi-utils-x\n", **PY}, framework=None),
    Case("names compare as PEP 503 says", {"requirements.txt": "Apache_Airflow==2.9\n", **PY}, framework="airflow"),
    Case("manage.py alone hints at django", {"requirements.txt": "gunicorn\n", "manage.py": "import django\n"}, candidates=(("framework", "django"),)),
    Case("a Python root with a front end beside it is Python",
         {"requirements.txt": "django\n", "manage.py": "x = 1\n" * 30, "package.json": {"devDependencies": {"vite": "5", "vue": "3"}}, "src/a.js": "1\n"},
         language="python", framework="django", build="pip", runtime="python", candidates=(("framework", "vue"),)),
]  # fmt: skip

RUNS = [
    Case("uvicorn starts the application object", {"requirements.txt": "fastapi\nuvicorn\n", "main.py": "from fastapi import FastAPI\napp = FastAPI()\n"},
         command="uvicorn main:app --host 0.0.0.0 --port 8000", ports=(8000,), role="app"),
    Case("an application in a package", {"requirements.txt": "fastapi\n", "service/main.py": "api = FastAPI()\n"}, command="uvicorn service.main:api --host 0.0.0.0 --port 8000"),
    Case("flask runs itself", {"requirements.txt": "flask\n", "app.py": "app = Flask(__name__)\napp.run(port=5050)\n"}, ports=(5050,), command="flask run --host=0.0.0.0 --port=5050"),
    Case("variables that Python reads", {"requirements.txt": "flask\n", "app.py": "import os\nos.environ['DB_URL']\nos.getenv('CACHE_URL')\nos.environ.get('MODE_X')\n"}, env=("DB_URL", "CACHE_URL", "MODE_X")),
    Case("a library of a build system", {"pyproject.toml": project("attrs", extra="[build-system]\nrequires=['setuptools']\n"), "src/thing/__init__.py": "x = 1\n"}, role="library"),
]  # fmt: skip

CASES = [*FRAMEWORKS, *MANAGERS, *RANKS, *RUNS]
