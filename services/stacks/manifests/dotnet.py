"""MSBuild projects and what ``Directory.Build.props`` and ``Directory.Packages.props`` add to them; solutions."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import Element, read_xml
from services.stacks.manifests.model import Manifest

_SOLUTION_PROJECT = re.compile(r'(?m)^Project\("[^"]*"\)\s*=\s*"[^"]*",\s*"([^"]+\.(?:cs|fs|vb)proj)"')
_FRAMEWORK = re.compile(r"^net(?:coreapp|standard)?(\d+(?:\.\d+)?)")


def read_project(manifest: Manifest) -> None:
    """Read a project file. Raises: Broken."""
    project = read_xml(manifest.text)
    manifest.name = manifest.path.rpartition("/")[2].rpartition(".")[0]
    sdk = project.attributes.get("Sdk") or next(
        (element.attributes.get("Name", "") for element in project.all("Sdk")), ""
    )
    if sdk:
        manifest.depend(f"sdk:{sdk.partition('/')[0]}", None, "prod", manifest.offset_of(project.line))
    read_properties(manifest, project)
    for group in project.all("ItemGroup"):
        for item in group.children:
            name = item.attributes.get("Include") or item.attributes.get("Update")
            if not name:
                continue
            if item.tag == "PackageReference":
                version = item.attributes.get("Version") or item.value("Version")
                private = (item.attributes.get("PrivateAssets") or item.value("PrivateAssets") or "").lower() == "all"
                manifest.depend(name.lower(), version, "dev" if private else "prod", manifest.offset_of(item.line))
            elif item.tag == "ProjectReference":
                project_path = name.replace("\\", "/").rpartition("/")[0] or "."
                manifest.facts["local"] = f"{manifest.facts.get('local', '')}{project_path}\n"
            elif item.tag == "FrameworkReference":
                manifest.depend(f"framework:{name}".lower(), None, "prod", manifest.offset_of(item.line))
            elif item.tag == "Reference" and name.startswith("System.Web"):
                manifest.depend(name.partition(",")[0].lower(), None, "prod", manifest.offset_of(item.line))


def read_properties(manifest: Manifest, project: Element) -> None:
    for group in project.all("PropertyGroup"):
        for item in group.children:
            value = item.text.strip()
            if item.tag in {"TargetFramework", "TargetFrameworks"}:
                for target in value.split(";"):
                    if match := _FRAMEWORK.match(target.strip()):
                        number = match[1] if "." in match[1] else ".".join(match[1])
                        manifest.state("dotnet", item.tag, number, item.line)
            elif item.tag == "TargetFrameworkVersion":
                manifest.state("dotnet", item.tag, value.removeprefix("v"), item.line)
            elif item.tag in {"OutputType", "AssemblyName", "UseMaui", "UseWPF", "UseWindowsForms", "IsPackable",
                              "IsTestProject"}:  # fmt: skip
                manifest.facts[item.tag] = value
                if item.tag.startswith("Use") and value.lower() == "true":
                    manifest.depend(item.tag.lower(), None, "prod", manifest.offset_of(item.line))


def read_solution(manifest: Manifest) -> None:
    """Read a solution file. Raises: Broken."""
    manifest.package = False
    if manifest.path.endswith(".slnx"):
        paths = [
            element.attributes.get("Path", "") for element in _deep(read_xml(manifest.text)) if element.tag == "Project"
        ]
    else:
        paths = [match[1] for match in _SOLUTION_PROJECT.finditer(manifest.text)]
    manifest.facts["projects"] = "\n".join(path.replace("\\", "/") for path in paths if path)


def _deep(element: Element) -> list[Element]:
    return [element, *(inner for child in element.children for inner in _deep(child))]


def read_shared(manifest: Manifest) -> None:
    """Read a ``Directory.*.props`` file: its properties, and central versions as dependencies. Raises: Broken."""
    project = read_xml(manifest.text)
    read_properties(manifest, project)
    for item in _deep(project):
        if item.tag == "PackageVersion" and "Include" in item.attributes:
            version = item.attributes.get("Version") or item.value("Version")
            manifest.depend(item.attributes["Include"].lower(), version, "prod", manifest.offset_of(item.line))


def read_packages_config(manifest: Manifest) -> None:
    """Read a ``packages.config``. Raises: Broken."""
    manifest.package = False
    for item in read_xml(manifest.text).all("package"):
        manifest.depend(
            item.attributes.get("id", "").lower(), item.attributes.get("version"), "prod", manifest.offset_of(item.line)
        )
