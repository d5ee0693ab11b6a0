"""Generated repositories shaped as large real ones: many modules, ignore files of a hundred lines, deep folders."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

_IGNORED = Path(__file__).with_name("stacks_ignored.txt").read_text()
_WORDS = (
    "core",
    "rule",
    "dao",
    "edge",
    "auth",
    "mail",
    "queue",
    "audit",
    "chart",
    "order",
    "stock",
    "user",
    "plan",
    "wire",
)

Files = Iterator[tuple[str, str]]


def java_modules(chance: random.Random) -> Files:
    """Return a Maven reactor with a page in TypeScript next to it."""
    modules = [f"{chance.choice(_WORDS)}{number}" for number in range(60)]
    listed = "".join(f"<module>modules/{name}</module>" for name in modules)
    yield (
        "pom.xml",
        f"<project><groupId>g</groupId><artifactId>all</artifactId><packaging>pom</packaging><modules>{listed}</modules></project>",
    )
    yield ".gitignore", _IGNORED
    for name in modules:
        base = f"modules/{name}"
        yield f"{base}/pom.xml", _pom(name)
        for part in range(120):
            yield (
                f"{base}/src/main/java/org/example/{name}/{chance.choice(_WORDS)}/Class{part}.java",
                _code("class A {}", chance),
            )
        for part in range(40):
            yield f"{base}/src/test/java/org/example/Test{part}.java", _code("class T {}", chance)
        yield f"{base}/src/main/resources/{name}.yml", "a: 1\n"
    yield (
        "ui/package.json",
        json.dumps({"name": "ui", "dependencies": {"@angular/core": "17"}, "devDependencies": {"typescript": "5"}}),
    )
    yield "ui/.gitignore", _IGNORED
    for part in range(300):
        yield (
            f"ui/src/app/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}/part{part}.component.ts",
            _code("export const a = 1;", chance),
        )


def _pom(name: str) -> str:
    wanted = "".join(
        f"<dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-{part}</artifactId></dependency>"
        for part in ("web", "data-jpa", "test", "security")
    )
    return (
        "<project><parent><groupId>g</groupId><artifactId>all</artifactId><relativePath>../../pom.xml</relativePath></parent>"
        f"<artifactId>{name}</artifactId><dependencies>{wanted}</dependencies></project>"
    )


def dotnet_projects(chance: random.Random) -> Files:
    """Return a solution of many projects, each with a few hundred lines of ignore rules at the root."""
    names = [f"{chance.choice(_WORDS).title()}{number}" for number in range(80)]
    listed = "\n".join(
        f'Project("{{F}}") = "{name}", "src\\{name}\\{name}.csproj", "{{1}}"\nEndProject' for name in names
    )
    yield "all.sln", f"Microsoft Visual Studio Solution File\n{listed}\n"
    yield (
        ".gitignore",
        _IGNORED + "".join(f"*.{chance.choice(_WORDS)}{number}\n[Oo]ut{number}/\n" for number in range(120)),
    )
    for name in names:
        base = f"src/{name}"
        wanted = "".join(
            f'<PackageReference Include="{part}" Version="8.0.{chance.randint(0, 9)}" />'
            for part in ("Dapper", "Serilog", "AutoMapper")
        )
        yield (
            f"{base}/{name}.csproj",
            f'<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup><ItemGroup>{wanted}</ItemGroup></Project>',
        )
        for part in range(120):
            yield f"{base}/{_WORDS[part % 12]}/Part{part}.cs", _code("class P {}", chance)


def workspaces(chance: random.Random) -> Files:
    """Packages of npm in several languages, with an ignore file in each."""
    yield (
        "package.json",
        json.dumps({"name": "root", "private": True, "workspaces": ["packages/*"], "packageManager": "pnpm@9.1.0"}),
    )
    yield "pnpm-workspace.yaml", "packages:\n  - packages/*\n"
    yield (
        "pnpm-lock.yaml",
        "lockfileVersion: '9.0'\n"
        + "".join(f"  /dep{number}@1.0.0:\n    resolution: {{}}\n" for number in range(3000)),
    )
    yield ".gitignore", _IGNORED
    for number in range(500):
        base = f"packages/{chance.choice(_WORDS)}-{number}"
        yield (
            f"{base}/package.json",
            json.dumps(
                {
                    "name": f"p{number}",
                    "dependencies": {"express": "^4", "pg": "^8"},
                    "devDependencies": {"typescript": "5"},
                    "scripts": {"start": "node ."},
                },
                indent=2,
            ),
        )
        yield f"{base}/tsconfig.json", "{}"
        yield f"{base}/.gitignore", "dist/\n*.local\n/generated\n"
        for part in range(17):
            yield (
                f"{base}/src/{chance.choice(_WORDS)}/part{part}.{chance.choice(('ts', 'ts', 'tsx', 'css', 'json', 'md'))}",
                _code("export const a = 1;", chance),
            )


def one_program(chance: random.Random) -> Files:
    """Return one Python program of thousands of files, with all its fixtures and translations."""
    yield (
        "pyproject.toml",
        '[project]\nname = "shop"\ndependencies = ["django>=5", "celery", "psycopg[binary]", "redis"]\n',
    )
    yield "uv.lock", "".join(f'[[package]]\nname = "dep{number}"\nversion = "1.0"\n\n' for number in range(300))
    yield "manage.py", "import os\n"
    yield ".gitignore", _IGNORED
    for number in range(9990):
        folder = f"shop/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}/{number % 6}"
        yield (
            f"{folder}/file{number}.{chance.choice(('py', 'py', 'py', 'graphql', 'html', 'po', 'json', 'txt'))}",
            _code("a = 1", chance),
        )


def _code(line: str, chance: random.Random) -> str:
    return f"{line}\n" * chance.randint(5, 200)


#: Endings of the files of whole repositories, with their shares.
_JAVASCRIPT = {".ts": 45, ".tsx": 20, ".js": 8, ".json": 7, ".md": 6, ".css": 4, ".svg": 4, ".png": 3, ".snap": 3}
_JAVA = {".java": 70, ".xml": 8, ".properties": 5, ".yml": 5, ".sql": 5, ".json": 4, ".md": 3}
_PYTHON = {".py": 65, ".md": 6, ".json": 6, ".html": 6, ".rst": 5, ".po": 5, ".txt": 4, ".yaml": 3}
_FOLDERS = ["core", "api", "util", "model", "view", "service", "test", "data", "common", "impl"]


def _sources(chance: random.Random, packages: int, files: int, shares: dict[str, int]) -> Files:
    """Files in folders of folders of the packages, a third of them with a line that names a port."""
    made = 0
    while made < files:
        folders = [
            f"{chance.choice(_FOLDERS)}{chance.randrange(4)}" for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))
        ]
        base = "/".join([f"packages/p{chance.randrange(packages):03}/src", *folders])
        for _ in range(chance.randrange(1, 9)):
            ending = chance.choices(list(shares), list(shares.values()))[0]
            head = "import os\nPORT = process.env.PORT || 3000\n" if chance.random() < 0.3 else "// code\n"
            lines = int(min(60_000, chance.lognormvariate(7.6, 1.1))) // 40 + 1
            yield f"{base}/f{made}{ending}", head + "x = some_function(a, b)  # comment here\n" * lines
            made += 1


def javascript_repository(chance: random.Random) -> Files:
    """13,000 files in 120 packages of a workspace."""
    yield "package.json", '{"private": true, "workspaces": ["packages/*"]}'
    yield "package-lock.json", "{}"
    yield ".gitignore", _IGNORED
    for number in range(120):
        own = {"express": "4", "react": "18", "lodash": "4", "@x/p0": "workspace:*"}
        manifest = {"name": f"@x/p{number}", "scripts": {"start": "node dist/index.js"}, "dependencies": own}
        yield f"packages/p{number:03}/package.json", json.dumps({**manifest, "devDependencies": {"typescript": "5"}})
        yield f"packages/p{number:03}/tsconfig.json", "{}"
    yield from _sources(chance, 120, 13_000, _JAVASCRIPT)


def java_repository(chance: random.Random) -> Files:
    """10,000 files in 62 modules of a reactor."""
    listed = "".join(f"<module>packages/p{number:03}</module>" for number in range(62))
    head = "<artifactId>all</artifactId><groupId>g</groupId><packaging>pom</packaging>"
    yield "pom.xml", f"<project>{head}<modules>{listed}</modules></project>"
    yield ".gitignore", _IGNORED
    for number in range(62):
        yield f"packages/p{number:03}/pom.xml", _pom(f"p{number}")
    yield from _sources(chance, 62, 10_000, _JAVA)


def python_repository(chance: random.Random) -> Files:
    """5,000 files in 20 packages."""
    yield ".gitignore", _IGNORED
    for number in range(20):
        wanted = '["fastapi", "uvicorn", "sqlalchemy"]'
        yield f"packages/p{number:03}/pyproject.toml", f'[project]\nname = "p{number}"\ndependencies = {wanted}\n'
    yield from _sources(chance, 20, 5_000, _PYTHON)


SHAPES: dict[str, Callable[[random.Random], Files]] = {
    "Maven reactor": java_modules, ".NET solution": dotnet_projects, "pnpm workspace": workspaces, "one program": one_program,
    "JavaScript": javascript_repository, "Maven": java_repository, "Python": python_repository,
}  # fmt: skip


def write_shape(root: Path, shape: str) -> int:
    """Return how many files were written: 5,000 to 13,000."""
    count = 0
    for path, text in SHAPES[shape](random.Random(11)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        count += 1
    return count
