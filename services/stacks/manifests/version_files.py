"""Version files (``.nvmrc``, ``.tool-versions``, ``mise.toml``, ``global.json`` and so on) and base images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from services.stacks.manifests.formats import read_jsonc, read_toml
from services.stacks.manifests.model import Statement, dig, table, text_of

#: A plain file with one version in it, to the runtime that it pins.
PLAIN = {
    ".nvmrc": "node", ".node-version": "node", ".python-version": "python", ".ruby-version": "ruby",
    ".go-version": "go", ".java-version": "java", ".php-version": "php", ".terraform-version": "terraform",
    ".bun-version": "bun", ".dvmrc": "deno", ".swift-version": "swift", ".crystal-version": "crystal",
    ".elixir-version": "elixir", ".perl-version": "perl", ".sbt-version": "sbt", ".bazelversion": "bazel",
    ".exenv-version": "elixir", ".zigversion": "zig", ".deno-version": "deno", ".rust-version": "rust",
    ".R-version": "r", ".hugo-version": "hugo",
}  # fmt: skip
#: What .tool-versions, mise and SDKMAN call the tools whose versions count.
_TOOL_NAMES = {name: name for name in (
    "node", "go", "python", "ruby", "php", "java", "rust", "elixir", "erlang", "deno", "bun", "dotnet", "pnpm",
    "yarn", "npm", "maven", "gradle", "kotlin", "scala", "sbt", "clojure", "terraform", "zig", "crystal", "gleam",
    "flutter", "dart", "swift", "julia", "ocaml", "haskell", "nim", "perl", "r", "lua", "poetry", "uv", "hugo",
    "bazel", "cmake"
)} | {
    "nodejs": "node", "golang": "go", "dotnet-core": "dotnet", "dotnetcore": "dotnet", "ghc": "haskell"
}  # fmt: skip
_ENVIRONMENT = {
    "NODE_VERSION": "node", "PYTHON_VERSION": "python", "RUBY_VERSION": "ruby", "GO_VERSION": "go",
    "GOLANG_VERSION": "go", "JAVA_VERSION": "java", "PHP_VERSION": "php", "RUST_VERSION": "rust", "BUN_VERSION": "bun",
    "DENO_VERSION": "deno", "DOTNET_VERSION": "dotnet", "ELIXIR_VERSION": "elixir", "PNPM_VERSION": "pnpm",
    "YARN_VERSION": "yarn", "NPM_VERSION": "npm", "HUGO_VERSION": "hugo", "UV_VERSION": "uv",
    "POETRY_VERSION": "poetry", "ERLANG_VERSION": "erlang", "JDK_VERSION": "java",
}  # fmt: skip
_IMAGES = {
    "node": "node", "python": "python", "ruby": "ruby", "golang": "go", "rust": "rust", "php": "php", "openjdk": "java",
    "eclipse-temurin": "java", "amazoncorretto": "java", "maven": "", "gradle": "", "elixir": "elixir",
    "erlang": "erlang", "oven/bun": "bun", "denoland/deno": "deno", "swift": "swift", "dart": "dart", "perl": "perl",
    "julia": "julia", "r-base": "r", "rocker/r-ver": "r", "crystallang/crystal": "crystal", "haskell": "haskell",
    "mcr.microsoft.com/dotnet/sdk": "dotnet", "mcr.microsoft.com/dotnet/aspnet": "dotnet",
    "mcr.microsoft.com/dotnet/runtime": "dotnet", "azul/zulu-openjdk": "java",
    "bellsoft/liberica-openjdk-alpine": "java",
    "cirrusci/flutter": "flutter", "ghcr.io/cirruslabs/flutter": "flutter",
}  # fmt: skip
_FROM = re.compile(r"(?mi)^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(\S+)")
_ARG = re.compile(r"(?mi)^[ \t]*ARG[ \t]+(\w+)=[\"']?([^\s\"']+)")
_LEADING = re.compile(r"v?(\d+(?:\.\d+)*)")


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def plain_file(path: str, text: str) -> Iterable[Statement]:
    name = path.rpartition("/")[2]
    for number, line in enumerate(text.splitlines()[:50], 1):
        value = line.partition("#")[0].strip()
        if value:
            yield Statement(PLAIN[name], name, value, path, number)
            return


def tool_versions(path: str, text: str) -> Iterable[Statement]:
    for number, line in enumerate(text.splitlines()[:200], 1):
        words = line.partition("#")[0].split()
        if len(words) > 1 and words[0] in _TOOL_NAMES and words[1] not in {"system", "latest"}:
            yield Statement(_TOOL_NAMES[words[0]], ".tool-versions", words[1], path, number)


def mise(path: str, text: str) -> Iterable[Statement]:
    for tool, spec in table(read_toml(text).get("tools")).items():
        wanted = spec[0] if isinstance(spec, list) and spec else spec
        value = wanted if isinstance(wanted, str) else str(dig(wanted, "version") or "")
        name = _TOOL_NAMES.get(tool.removeprefix("core:"))
        if name and value and value not in {"system", "latest"}:
            match = re.search(rf"(?m)^[ \t]*[\"']?{re.escape(tool)}[\"']?\s*=", text)
            yield Statement(name, "mise.toml", value, path, _line(text, match.start()) if match else None)


def rust_toolchain(path: str, text: str) -> Iterable[Statement]:
    name = path.rpartition("/")[2]
    channel = text_of(dig(read_toml(text), "toolchain", "channel")) if "[" in text else text.strip()
    if channel:
        at = text.find(channel)
        yield Statement("rust", name, channel, path, _line(text, at))


def global_json(path: str, text: str) -> Iterable[Statement]:
    value = text_of(dig(read_jsonc(text), "sdk", "version"))
    if value:
        yield Statement("dotnet", "global.json", value, path, _line(text, text.find(value)))


def sdkman(path: str, text: str) -> Iterable[Statement]:
    for number, line in enumerate(text.splitlines()[:100], 1):
        key, _, value = line.partition("#")[0].partition("=")
        if value.strip() and key.strip() in _TOOL_NAMES:
            yield Statement(_TOOL_NAMES[key.strip()], ".sdkmanrc", value.strip(), path, number)


def runtime_txt(path: str, text: str) -> Iterable[Statement]:
    name, _, value = text.strip().partition("-")
    if name in {"python", "ruby", "node", "php"} and value:
        yield Statement(name, "runtime.txt", value, path, 1)


def system_properties(path: str, text: str) -> Iterable[Statement]:
    if match := re.search(r"(?m)^java\.runtime\.version\s*=\s*(\S+)", text):
        yield Statement("java", "system.properties", match[1], path, _line(text, match.start()))


def gemfile_lock(path: str, text: str) -> Iterable[Statement]:
    if match := re.search(r"(?m)^RUBY VERSION\n\s+ruby (\d[\d.]*)", text):
        yield Statement("ruby", "Gemfile.lock", match[1], path, _line(text, match.start()) + 1)
    if match := re.search(r"(?m)^BUNDLED WITH\n\s+(\d[\d.]*)", text):
        yield Statement("bundler", "Gemfile.lock", match[1], path, _line(text, match.start()) + 1)


def wrapper(path: str, text: str) -> Iterable[Statement]:
    """Gradle's and Maven's wrappers pin the tool; sbt does in ``build.properties``."""
    for tool, pattern in (
        ("gradle", r"gradle-(\d[\d.]*(?:-[\w]+)?)-(?:bin|all)"),
        ("maven", r"apache-maven-(\d[\d.]*)"),
        ("sbt", r"(?m)^sbt\.version\s*=\s*(\S+)"),
    ):
        if match := re.search(pattern, text):
            yield Statement(tool, path.rpartition("/")[2], match[1], path, _line(text, match.start()))
            return


def netlify(path: str, text: str) -> Iterable[Statement]:
    for key, value in table(dig(read_toml(text), "build", "environment")).items():
        if key in _ENVIRONMENT and isinstance(value, str):
            yield Statement(_ENVIRONMENT[key], "env", value, path, _line(text, text.find(key)))


def dotenv(path: str, text: str) -> Iterable[Statement]:
    for match in re.finditer(r"(?m)^[ \t]*(?:export[ \t]+)?([A-Z]+_VERSION)[ \t]*=[ \t]*[\"']?([\w./*-]+)", text):
        if match[1] in _ENVIRONMENT:
            yield Statement(_ENVIRONMENT[match[1]], "env", match[2], path, _line(text, match.start()))


def render_yaml(path: str, text: str) -> Iterable[Statement]:
    for match in re.finditer(r"key:\s*[\"']?([A-Z]+_VERSION)[\"']?\s*\n\s*value:\s*[\"']?([\w.]+)", text):
        if match[1] in _ENVIRONMENT:
            yield Statement(_ENVIRONMENT[match[1]], "env", match[2], path, _line(text, match.start()))


def dockerfile(path: str, text: str) -> Iterable[Statement]:
    arguments = {match[1]: match[2] for match in _ARG.finditer(text)}
    for match in _FROM.finditer(text):
        image = re.sub(r"\$\{?(\w+)(?::-[^}]*)?\}?", lambda argument: arguments.get(argument[1], ""), match[1])
        name, _, tag = image.partition("@")[0].rpartition(":")
        name = name.removeprefix("docker.io/").removeprefix("library/")
        number = _LEADING.match(tag)
        if not number or name not in _IMAGES:
            continue
        line = _line(text, match.start())
        if _IMAGES[name]:
            yield Statement(_IMAGES[name], "Dockerfile", number[1], path, line)
        elif java := re.search(r"(?:temurin|jdk|openjdk|corretto)-?(\d+)", tag):
            yield Statement("java", "Dockerfile", java[1], path, line)


READERS: dict[str, Callable[[str, str], Iterable[Statement]]] = {
    **dict.fromkeys(PLAIN, plain_file),
    ".tool-versions": tool_versions,
    "mise.toml": mise,
    ".mise.toml": mise,
    "rust-toolchain": rust_toolchain,
    "rust-toolchain.toml": rust_toolchain,
    "global.json": global_json,
    ".sdkmanrc": sdkman,
    "runtime.txt": runtime_txt,
    "system.properties": system_properties,
    "Gemfile.lock": gemfile_lock,
    "netlify.toml": netlify,
    "render.yaml": render_yaml,
    ".env": dotenv,
    "Dockerfile": dockerfile,
}
NESTED = (
    "gradle/wrapper/gradle-wrapper.properties",
    ".mvn/wrapper/maven-wrapper.properties",
    "project/build.properties",
)


def read(path: str, text: str) -> list[Statement]:
    """Return the statements of a version file.

    Raises: Broken, with the line.
    """
    name = path.rpartition("/")[2]
    reader = (
        wrapper
        if name in {"gradle-wrapper.properties", "maven-wrapper.properties", "build.properties"}
        else READERS[name]
    )
    return list(reader(path, text))
