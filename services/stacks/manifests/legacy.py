"""Tools that others have replaced, and that old repositories are still built with: dep, glide, Bower, Ant and so on."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import read_json, read_toml, read_xml, read_yaml
from services.stacks.manifests.model import Manifest, first, table, text_of


def read_gopkg(manifest: Manifest) -> None:
    """``Gopkg.toml`` of dep. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    for key in ("constraint", "override"):
        listed = data.get(key)
        for one in listed if isinstance(listed, list) else []:
            if name := text_of(table(one).get("name")):
                version = text_of(table(one).get("version")) or text_of(table(one).get("branch"))
                manifest.depend(name, version, "prod", _at(manifest, name))


def read_glide(manifest: Manifest) -> None:
    """Read a ``glide.yaml``. Raises: Broken."""
    data = manifest.data = read_yaml(manifest.text)
    manifest.name = text_of(data.get("package"))
    for key in ("import", "testImport"):
        listed = data.get(key)
        for one in listed if isinstance(listed, list) else []:
            if name := text_of(table(one).get("package")):
                scope = "test" if key == "testImport" else "prod"
                manifest.depend(name, text_of(table(one).get("version")), scope, _at(manifest, name))  # type: ignore[arg-type]


def read_godeps(manifest: Manifest) -> None:
    """``Godeps/Godeps.json`` and govendor's ``vendor/vendor.json``. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    manifest.name = text_of(data.get("ImportPath")) or text_of(data.get("rootPath"))
    if version := first(r'"GoVersion"\s*:\s*"go([\d.]+)', manifest.text):
        manifest.state("go", manifest.kind, version, manifest.line_of("GoVersion"))
    listed = data.get("Deps") or data.get("package")
    for one in listed if isinstance(listed, list) else []:
        if name := text_of(table(one).get("ImportPath")) or text_of(table(one).get("path")):
            manifest.depend(name, text_of(table(one).get("Comment")), "prod", _at(manifest, name))


def read_bower(manifest: Manifest) -> None:
    """Read a ``bower.json``, whose packages are mostly those of npm. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    for key, scope in (("dependencies", "prod"), ("devDependencies", "dev")):
        for name, version in table(data.get(key)).items():
            manifest.depend(name, text_of(version), scope, section=key, ecosystem="npm")  # type: ignore[arg-type]


def read_elm_package(manifest: Manifest) -> None:
    """Elm before 0.19. Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    for name, version in table(data.get("dependencies")).items():
        manifest.depend(name, text_of(version), "prod")
    if match := re.match(r"([\d.]+)", text_of(data.get("elm-version")) or ""):
        manifest.state("elm", "elm-package.json", match[1], manifest.line_of("elm-version"))


def read_ant(manifest: Manifest) -> None:
    """``build.xml``. Raises: Broken."""
    manifest.name = read_xml(manifest.text).attributes.get("name")
    if re.search(r"<java\b|Main-Class", manifest.text):
        manifest.facts["executable"] = "yes"
    manifest.state_by(
        re.search(r"""<javac\b[^>]{0,500}\b(?:release|target|source)="(\d[\d.]*)\"""", manifest.text), "java", "javac"
    )


def read_ivy(manifest: Manifest) -> None:
    """Read an ``ivy.xml``. Raises: Broken."""
    module = read_xml(manifest.text)
    info = module.first("info")
    manifest.name = info.attributes.get("module") if info else None
    dependencies = module.first("dependencies")
    for item in dependencies.all("dependency") if dependencies else []:
        scope = "test" if "test" in item.attributes.get("conf", "") else "prod"
        name = f"{item.attributes.get('org', '')}:{item.attributes.get('name', '')}"
        manifest.depend(name, item.attributes.get("rev"), scope, manifest.offset_of(item.line))  # type: ignore[arg-type]


def read_buildout(manifest: Manifest) -> None:
    """Read the eggs of ``buildout.cfg``."""
    for block in re.finditer(r"(?m)^eggs\s*\+?=((?:.*\n)(?:[ \t]+.*\n?)*)", manifest.text + "\n"):
        for egg in re.finditer(r"(?m)^[ \t]*([A-Za-z][\w.-]*)", block[1]):
            manifest.depend(re.sub(r"[-_.]+", "-", egg[1]).lower(), None, "prod", block.start(1) + egg.start(1))


def read_vcxproj(manifest: Manifest) -> None:
    """Read a ``*.vcxproj``. Raises: Broken."""
    manifest.name = manifest.path.rpartition("/")[2].rpartition(".")[0]
    for group in read_xml(manifest.text).all("PropertyGroup"):
        if (group.value("ConfigurationType") or "") == "Application":
            manifest.facts["executable"] = manifest.name
        if standard := group.value("LanguageStandard"):
            manifest.state("c++", "LanguageStandard", standard.removeprefix("stdcpp"), None)


def read_qmake(manifest: Manifest) -> None:
    """Read a ``*.pro`` file; one that only lists others makes no package."""
    manifest.name = first(r"(?m)^[ \t]*TARGET\s*=\s*(\S+)", manifest.text)
    template = first(r"(?m)^[ \t]*TEMPLATE\s*=\s*(\w+)", manifest.text) or "app"
    manifest.package = template != "subdirs"
    if template == "app":
        manifest.facts["executable"] = manifest.name or manifest.path.rpartition("/")[2].removesuffix(".pro")


def _at(manifest: Manifest, name: str) -> int | None:
    at = manifest.text.find(name)
    return at if at >= 0 else None
