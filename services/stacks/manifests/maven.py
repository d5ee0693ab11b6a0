"""``pom.xml`` with what it inherits from parents in the same tree."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import Element, read_xml
from services.stacks.manifests.model import Manifest, Scope

_SCOPES: dict[str, Scope] = {"test": "test", "provided": "prod", "runtime": "prod", "import": "indirect"}
#: A longer name or version is ignored: properties made of properties grow without limit.
_LONGEST = 500
_PROPERTY = re.compile(r"\$\{([\w.-]+)\}")
_JAVA_PROPERTIES = ("maven.compiler.release", "java.version", "maven.compiler.target", "maven.compiler.source")


def read_pom(manifest: Manifest) -> None:
    """Read a ``pom.xml``. Raises: Broken."""
    project = read_xml(manifest.text)
    manifest.name = project.value("artifactId")
    manifest.version = project.value("version") or project.value("parent", "version")
    manifest.facts["packaging"] = project.value("packaging") or "jar"
    properties = {item.tag: item.text.strip() for item in _children(project, "properties")}
    for key, value in properties.items():
        manifest.facts[f"property:{key}"] = value
    # A parent alone only says which versions would be used: it proves little, and nothing of those that gather modules.
    gathers = manifest.facts["packaging"] == "pom"
    _coordinates(manifest, project.first("parent"), "indirect" if gathers else "optional", properties, "parent")
    for item in _children(project, "dependencyManagement", "dependencies"):
        version = _filled(item.value("version"), properties)
        if version and "${" not in version:
            manifest.facts[f"managed:{item.value('groupId')}:{item.value('artifactId')}"] = version
    for item in _children(project, "dependencies"):
        scope = _SCOPES.get(item.value("scope") or "", "prod")
        if scope == "prod" and item.value("optional") == "true":
            scope = "optional"
        _coordinates(manifest, item, scope, properties)
    for plugin in _children(project, "build", "plugins"):
        _plugin(manifest, plugin, properties)
    for profile in _children(project, "profiles"):
        for item in _children(profile, "dependencies"):
            _coordinates(manifest, item, "optional", properties)
    _java(manifest, project, properties)
    modules = [item.text.strip() for item in _children(project, "modules")]
    modules += [item.text.strip() for item in _children(project, "subprojects")]
    if modules:
        manifest.facts["modules"] = "\n".join(modules)
    relative = project.value("parent", "relativePath")
    if project.first("parent") is not None:
        manifest.facts["parent"] = relative or "../pom.xml"


def _children(element: Element, *path: str) -> list[Element]:
    parent = element.first(*path)
    return parent.children if parent else []


def _filled(value: str | None, properties: dict[str, str]) -> str | None:
    for _ in range(3):
        if value is None or "${" not in value or len(value) > _LONGEST:
            break
        value = _PROPERTY.sub(lambda match: properties.get(match[1], match[0])[:_LONGEST], value)
    return value[:_LONGEST] if value else value


def _coordinates(
    manifest: Manifest, item: Element | None, scope: Scope, properties: dict[str, str], section: str | None = None
) -> None:
    if item is None:
        return
    group, artifact = item.first("groupId"), item.first("artifactId")
    if artifact is None:
        return
    name = f"{_filled(group.text.strip(), properties) if group else ''}:{artifact.text.strip()}"
    version = _filled(item.value("version"), properties)
    manifest.depend(name, version, scope, manifest.offset_of(artifact.line), section)


def _plugin(manifest: Manifest, plugin: Element, properties: dict[str, str]) -> None:
    name = plugin.value("artifactId")
    if name:
        line = (plugin.first("artifactId") or plugin).line
        group = plugin.value("groupId") or "org.apache.maven.plugins"
        manifest.facts[f"plugin:{group}:{name}"] = str(line)
        manifest.depend(
            f"plugin:{group}:{name}", _filled(plugin.value("version"), properties), "prod", manifest.offset_of(line)
        )


def _java(manifest: Manifest, project: Element, properties: dict[str, str]) -> None:
    for key in _JAVA_PROPERTIES:
        value = _filled(properties.get(key), properties)
        if value and "${" not in value:
            manifest.state("java", key, value.removeprefix("1."), manifest.line_of(key))
    for plugin in _children(project, "build", "plugins"):
        if plugin.value("artifactId") != "maven-compiler-plugin":
            continue
        for key in ("release", "target", "source"):
            setting = plugin.first("configuration", key)
            value = _filled(setting.text.strip(), properties) if setting else None
            if setting and value and "${" not in value:
                manifest.state("java", f"maven-compiler-plugin.{key}", value.removeprefix("1."), setting.line)
