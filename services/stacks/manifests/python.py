"""Python's manifests: ``pyproject.toml``, requirement files, ``setup.py`` and ``.cfg``, ``Pipfile``, conda and pixi."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable, Mapping

from services.stacks.manifests.formats import Broken, read_toml, read_yaml
from services.stacks.manifests.model import Manifest, Scope, dig, first, table, text_of, texts

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*?)(?:\s+#.*|;.*)?\s*$")
_EXTRAS = re.compile(r"^\s*[\w.-]+\s*\[([^\]]{0,500})\]")
_PROJECT_TOOLS = frozenset({"poetry", "pdm", "hatch", "uv", "pixi", "flit", "setuptools", "rye", "maturin"})
_QUOTED = re.compile(r"""["']([A-Za-z0-9][^"'\n]*)["']""")
_DEV_GROUPS = re.compile(r"(?i)dev|test|lint|doc|type|check|ci$|style|format|bench|example")


def normal(name: str) -> str:
    """Return a project name normalized as in PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _extras(requirement: str) -> tuple[str, ...]:
    """Return the extras of a requirement, normalized."""
    match = _EXTRAS.match(requirement)
    return tuple(normal(extra.strip()) for extra in match[1].split(",")) if match else ()


def read_pyproject(manifest: Manifest) -> None:
    """Read a ``pyproject.toml``. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    project, tools = table(data.get("project")), table(data.get("tool"))
    poetry = table(tools.get("poetry"))
    manifest.name = text_of(project.get("name")) or text_of(poetry.get("name"))
    manifest.version = text_of(project.get("version")) or text_of(poetry.get("version"))
    manifest.package = bool(
        project or "build-system" in data or _PROJECT_TOOLS & set(tools) or "dependency-groups" in data
    )
    _requirements(manifest, texts(project.get("dependencies")), "prod")
    for group, wanted in table(project.get("optional-dependencies")).items():
        _requirements(manifest, texts(wanted), "dev" if _DEV_GROUPS.search(group) else "optional")
    installed = texts(dig(tools, "uv", "default-groups"))
    for group, wanted in table(data.get("dependency-groups")).items():
        usual: Scope = "prod" if group in installed else "optional"
        _requirements(manifest, texts(wanted), "dev" if _DEV_GROUPS.search(group) else usual)
    for source in table(dig(tools, "uv", "sources")).values():
        if path := text_of(table(source).get("path")):
            _local(manifest, path)
    _poetry(manifest, poetry)
    for wanted in table(dig(tools, "pdm", "dev-dependencies")).values():
        _requirements(manifest, texts(wanted), "dev")
    _requirements(manifest, texts(dig(tools, "uv", "dev-dependencies")), "dev")
    for environment in table(dig(tools, "hatch", "envs")).values():
        _requirements(manifest, texts(dig(environment, "dependencies")), "dev")
    _named(manifest, table(dig(tools, "pixi", "dependencies")), "prod")
    _named(manifest, table(dig(tools, "pixi", "pypi-dependencies")), "prod")
    for path in (
        *_paths(dig(tools, "setuptools", "dynamic", "dependencies", "file")),
        *_paths(dig(tools, "hatch", "metadata", "hooks", "requirements_txt", "files")),
    ):
        _include(manifest, "r", path)
    if value := text_of(project.get("requires-python")):
        manifest.state("python", "requires-python", value, manifest.line_of("requires-python"))
    backend = text_of(dig(data, "build-system", "build-backend"))
    if backend:
        manifest.facts["backend"] = backend


def _poetry(manifest: Manifest, poetry: Mapping[str, object]) -> None:
    main = table(poetry.get("dependencies"))
    if value := text_of(main.get("python")):
        manifest.state("python", "poetry", value, manifest.line_of("python", "tool.poetry.dependencies"))
    _named(manifest, {name: spec for name, spec in main.items() if name != "python"}, "prod")
    _named(manifest, table(poetry.get("dev-dependencies")), "dev")
    for group, inner in table(poetry.get("group")).items():
        wanted = table(dig(inner, "dependencies"))
        usual: Scope = "optional" if dig(inner, "optional") is True else "prod"  # the others are installed by default
        _named(manifest, wanted, "dev" if _DEV_GROUPS.search(group) else usual)


def _named(manifest: Manifest, wanted: Mapping[str, object], scope: Scope) -> None:
    for name, spec in wanted.items():
        version = spec if isinstance(spec, str) else text_of(table(spec).get("version"))
        extra = scope == "prod" and table(spec).get("optional") is True
        extras = tuple(map(normal, texts(table(spec).get("extras"))))
        scoped: Scope = "optional" if extra else scope
        manifest.depend(normal(name), version, scoped, _at(manifest.text, name), extras=extras)
        if path := text_of(table(spec).get("path")):
            _local(manifest, path)


def _local(manifest: Manifest, path: str) -> None:
    """Note a folder of the same source that the manifest depends on."""
    manifest.facts["local"] = f"{manifest.facts.get('local', '')}{path}\n"


def _at(text: str, name: str) -> int | None:
    match = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text)
    return match.start() if match else None


def _requirements(manifest: Manifest, wanted: Iterable[str], scope: Scope) -> None:
    for one in wanted:
        match = _REQUIREMENT.match(one)
        if match:
            at = manifest.text.find(one)
            offset = at if at >= 0 else None
            manifest.depend(normal(match[1]), match[2].strip() or None, scope, offset, extras=_extras(one))


#: Another file with requirements (r), or one that only says their versions (c).
_INCLUDED = re.compile(r"^(?:-r|--requirement|-c|--constraint)[ \t=]*(\S+)")
_EDITABLE = re.compile(r"^(?:(?:-e|--editable)[ \t=]+)?(?:file:(?://)?)?(\.{1,2}/[\w./-]*)")
_TEXT_FILES = re.compile(r"""["']([\w./-]+\.(?:txt|in|pip))["']""")


def _paths(value: object) -> list[str]:
    return [value] if isinstance(value, str) else texts(value)


def _include(manifest: Manifest, how: str, path: str) -> None:
    manifest.facts["includes"] = f"{manifest.facts.get('includes', '')}{how} {path}\n"


def read_requirements(manifest: Manifest) -> None:
    folder, _, name = manifest.path.rpartition("/")
    scope: Scope = "dev" if re.search(r"(?i)dev|test|lint|doc|ci\b|type", name) else "prod"
    if re.search(r"(?i)(?:^|/)(?:tests?|testing|e2e|benchmarks?)(?:/|$)", folder):
        scope = "test"
    offset = 0
    for line in manifest.text.splitlines(keepends=True):
        bare = line.strip()
        if included := _INCLUDED.match(bare):
            _include(manifest, "c" if bare.startswith(("-c", "--c")) else "r", included[1])
        if local := _EDITABLE.match(bare):
            _local(manifest, local[1])
        if bare and bare[0] not in "#-./" and "://" not in bare.partition("@")[0]:
            match = _REQUIREMENT.match(bare)
            if match:
                wanted = match[2].strip(" \\") or None
                manifest.depend(normal(match[1]), wanted, scope, offset, extras=_extras(bare))
        offset += len(line)


def read_setup_py(manifest: Manifest) -> None:
    """Read a ``setup.py`` as text, never by running it: the lists of the usual keywords, and files that it reads."""
    text = manifest.text
    for included in dict.fromkeys(match[1] for match in _TEXT_FILES.finditer(text)):
        _include(manifest, "r", included)
    manifest.name = first(r"""\bname\s*=\s*["']([\w.-]+)["']""", text)
    manifest.state_by(re.search(r"""python_requires\s*=\s*["']([^"']+)["']""", text), "python", "python_requires")
    for keyword, scope in (("install_requires", "prod"), ("setup_requires", "dev"), ("tests_require", "test")):
        if match := re.search(rf"\b{keyword}\s*=\s*\[(.*?)\]", text, re.S):
            _quoted(manifest, match, scope)  # type: ignore[arg-type]
    if match := re.search(r"extras_require\s*=\s*\{(.*?)\}", text, re.S):
        for group in re.finditer(r"""["']([\w-]+)["']\s*:\s*\[(.*?)\]""", match[1], re.S):
            scope = "dev" if _DEV_GROUPS.search(group[1]) else "optional"
            for item in _QUOTED.finditer(group[2]):
                _one(manifest, item[1], scope, match.start(1) + group.start(2) + item.start())  # type: ignore[arg-type]


def _quoted(manifest: Manifest, match: re.Match[str], scope: Scope) -> None:
    for item in _QUOTED.finditer(match[1]):
        _one(manifest, item[1], scope, match.start(1) + item.start())


def _one(manifest: Manifest, requirement: str, scope: Scope, at: int) -> None:
    if parsed := _REQUIREMENT.match(requirement):
        manifest.depend(normal(parsed[1]), parsed[2].strip() or None, scope, at, extras=_extras(requirement))


def read_setup_cfg(manifest: Manifest) -> None:
    """Read a ``setup.cfg``. Raises: Broken."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(manifest.text)
    except configparser.MissingSectionHeaderError as error:
        raise Broken(error.lineno, "not valid INI") from None
    except configparser.ParsingError as error:
        raise Broken(error.errors[0][0] if error.errors else None, "not valid INI") from None
    except configparser.Error:
        raise Broken(1, "not valid INI") from None
    manifest.name = parser.get("metadata", "name", fallback=None)
    manifest.package = parser.has_section("options") or manifest.name is not None
    wanted = parser.get("options", "install_requires", fallback="")
    if wanted.startswith("file:"):
        for path in wanted.removeprefix("file:").split(","):
            _include(manifest, "r", path.strip())
        wanted = ""
    _requirements(manifest, [line for line in wanted.splitlines() if line.strip()], "prod")
    if value := parser.get("options", "python_requires", fallback=""):
        manifest.state("python", "python_requires", value, manifest.line_of("python_requires"))


def read_pipfile(manifest: Manifest) -> None:
    """Read a ``Pipfile``. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    _named(manifest, table(data.get("packages")), "prod")
    _named(manifest, table(data.get("dev-packages")), "dev")
    for key in ("python_full_version", "python_version"):
        if value := text_of(dig(data, "requires", key)):
            manifest.state("python", "Pipfile", value, manifest.line_of(key))


def read_conda(manifest: Manifest) -> None:
    """Read an ``environment.yml`` of conda. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    wanted = data.get("dependencies")
    manifest.package = isinstance(wanted, list)
    manifest.name = text_of(data.get("name"))
    for one in wanted if isinstance(wanted, list) else []:
        if isinstance(one, str):
            spec = one.rpartition("::")[2]
            parts = re.match(r"\s*([\w.-]+)\s*(.*)", spec)
            if not parts:
                continue
            if parts[1] == "python":
                manifest.state("python", "environment.yml", parts[2].strip("= ") or "", manifest.line_of("python"))
            else:
                manifest.depend(normal(parts[1]), parts[2] or None, "prod", _at(manifest.text, parts[1]))
        else:
            _requirements(manifest, texts(table(one).get("pip")), "prod")


def read_pixi(manifest: Manifest) -> None:
    """Read a ``pixi.toml``. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    manifest.name = text_of(dig(data, "workspace", "name")) or text_of(dig(data, "project", "name"))
    main = table(data.get("dependencies"))
    if value := text_of(main.get("python")):
        manifest.state("python", "pixi.toml", value, manifest.line_of("python", "dependencies"))
    _named(manifest, {name: spec for name, spec in main.items() if name != "python"}, "prod")
    _named(manifest, table(data.get("pypi-dependencies")), "prod")
