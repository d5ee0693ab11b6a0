"""Files other than manifests that describe the packages at or below them: most folders hold none."""

from __future__ import annotations

import re

from services.stacks.manifests.version_files import READERS

NODE_LOCKFILES = {
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
NODE_SETTINGS = {".yarnrc.yml": "yarn", ".yarnrc": "yarn", "bunfig.toml": "bun", ".pnpmfile.cjs": "pnpm"}
PYTHON_LOCKFILES = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile.lock": "pipenv",
    "pixi.lock": "pixi",
    "conda-lock.yml": "conda",
}
COMPOSE = ("docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml")
#: The same for one end, as in ``docker-compose.prod.yml``.
_COMPOSE_FOR = re.compile(r"(?:docker-)?compose[.-]([\w.-]+)\.ya?ml")
#: Ends other than running the program: a container is worked with in it, or tested.
_COMPOSE_ASIDE = re.compile(
    r"(?i)(?:^|[._-])(?:dev|devel|development|local|override|debug|watch|example|sample)(?:$|[._-])"
)
_COMPOSE_TESTS = re.compile(
    r"(?i)(?:^|[._-])(?:tests?|testing|ci|e2e|integration|lint|docs?|bench|benchmark)(?:$|[._-])"
)
#: Each describes one program that a platform runs: the package in its folder is not a library.
SERVERLESS = frozenset(
    ("serverless.yml", "serverless.yaml", "serverless.ts", "wrangler.toml", "wrangler.json", "wrangler.jsonc")
)
#: Files of platforms that say how the code at or below them is built and run.
PLATFORM_FILES = (
    "railway.json", "railway.toml", "railpack.json", "nixpacks.toml", "nixpacks.json", "heroku.yml", "fly.toml",
    "render.yaml", "render.yml", "zbpack.json", "app.yaml", "app.yml", "apprunner.yaml", "captain-definition",
    "app.json",
    "docker-bake.hcl", "docker-bake.json", "docker-bake.override.hcl", ".gitlab-ci.yml",
)  # fmt: skip
#: Files that say that a folder of pages is published.
PUBLISHES = frozenset(
    ("netlify.toml", "vercel.json", "firebase.json", "staticwebapp.config.json", "CNAME", ".nojekyll", "_redirects",
     "_headers", "static.json", "Staticfile", "surge.json", "now.json")
)  # fmt: skip
#: Tools that serve, and keep the port in their own settings.
SERVER_SETTINGS = frozenset(
    ["Rocket.toml"]
    + [
        f"{tool}.config.{module}{script}s"
        for tool in ("vite", "nuxt", "vue", "astro", "quasar", "snowpack", "webpack")
        for module in ("", "c", "m")
        for script in "jt"
    ]
)
MARKERS = frozenset(
    (
        *NODE_LOCKFILES, *NODE_SETTINGS, *PYTHON_LOCKFILES, *COMPOSE, *SERVER_SETTINGS, *READERS,
        "dockerfile", "Cargo.lock", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock",
        "tsconfig.json", "tsconfig.base.json",
        "pnpm-workspace.yaml", "rush.json", "nx.json", "lerna.json", "go.work", "melos.yaml",
        "cabal.project",
        "hatch.toml", "mvnw", "gradlew",
        "Procfile", "Containerfile", *PLATFORM_FILES, *SERVERLESS, *PUBLISHES,
    )
)  # fmt: skip
_OPENINGS = ("Dockerfile.", "Containerfile.", ".env.", "docker-compose.", "docker-compose-", "compose.", "compose-")
#: First letters of these names, which are looked at beside the endings of all names.
OPENING_LETTERS = frozenset(name[0] for name in _OPENINGS)
MARKER_ENDINGS = (".Dockerfile", ".dockerfile", ".service")
_DOCKERFILES = frozenset(("Dockerfile", "dockerfile", "Containerfile"))
#: Files named like a Dockerfile that are not Dockerfiles.
_BESIDE_DOCKERFILES = (".dockerignore", ".md", ".j2", ".tmpl", ".template", ".erb", ".sh", ".py")


def compose_end(name: str) -> str | None:
    """Return what a compose file is for: ``run``, ``work`` or ``test``; None for another file."""
    if name in COMPOSE:
        return "run"
    match = _COMPOSE_FOR.fullmatch(name) if "compose" in name[:14] else None
    if match is None:
        return None
    return "test" if _COMPOSE_TESTS.search(match[1]) else "work" if _COMPOSE_ASIDE.search(match[1]) else "run"


def is_marker(name: str) -> bool:
    return name in MARKERS or name.startswith(_OPENINGS) or name.endswith(MARKER_ENDINGS)


def is_dockerfile(name: str) -> bool:
    """Return whether a file of that name holds the instructions of an image."""
    if name in _DOCKERFILES or name.endswith((".Dockerfile", ".dockerfile")):
        return True
    return name.startswith(("Dockerfile.", "Containerfile.")) and not name.endswith(_BESIDE_DOCKERFILES)
