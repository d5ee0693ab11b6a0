"""What native build tools' files say: CMake, Meson, Conan, vcpkg, Xcode, Zig."""

from __future__ import annotations

import re

from services.stacks.manifests.formats import blank_comments, read_json
from services.stacks.manifests.model import Manifest, table, text_of


def read_cmake(manifest: Manifest) -> None:
    text = blank_comments(manifest.text, hashes=True)
    if match := re.search(r"(?i)\bproject\s*\(\s*[\"']?([\w.+-]{1,100})([^)]{0,500})\)", text):
        manifest.name = match[1]
        manifest.facts["languages"] = match[2]
    if match := re.search(r"(?i)\badd_executable\s*\(\s*([\w.+-]+)?", text):
        manifest.facts["executable"] = match[1] or "yes"
    for match in re.finditer(
        r"(?i)\b(?:find_package|FetchContent_Declare|CPMAddPackage)\s*\(\s*[\"']?(?:gh:\S+/)?([\w.+-]+)", text
    ):
        manifest.depend(match[1].lower(), None, "prod", match.start())
    if match := re.search(r"(?i)CMAKE_(CXX|C)_STANDARD\s+(\d+)", text):
        runtime = "c++" if match[1].upper() == "CXX" else "c"
        manifest.state(runtime, f"CMAKE_{match[1].upper()}_STANDARD", match[2], manifest.line_at(match.start()))


def read_meson(manifest: Manifest) -> None:
    text = blank_comments(manifest.text, hashes=True)
    if match := re.search(r"\bproject\s*\(\s*'([^']+)'\s*,\s*(\[[^\]]*\]|'[^']*')", text):
        manifest.name = match[1]
        manifest.facts["languages"] = match[2]
    else:
        manifest.package = False  # a subfolder of somebody else's project
    if match := re.search(r"\bexecutable\s*\(\s*(?:'([^']+)')?", text):
        manifest.facts["executable"] = match[1] or "yes"
    for match in re.finditer(r"\bdependency\s*\(\s*'([^']+)'", text):
        manifest.depend(match[1].lower(), None, "prod", match.start())


def read_conan_recipe(manifest: Manifest) -> None:
    """``conanfile.py``: what it requires, in either form."""
    for match in re.finditer(r"""[\"']([a-z][\w.+-]*)/(\d[\w.+-]*)(?:@[^\"'\n]*)?[\"']""", manifest.text):
        manifest.depend(match[1], match[2], "prod", match.start(1))
    manifest.package = False


def read_conan(manifest: Manifest) -> None:
    for match in re.finditer(r"(?m)^[ \t]*([a-z][\w.+-]*)/([\d][\w.+-]*)", manifest.text):
        manifest.depend(match[1], match[2], "prod", match.start())
    manifest.package = False


def read_vcpkg(manifest: Manifest) -> None:
    """Raises: Broken."""
    data = manifest.data = read_json(manifest.text)
    wanted = data.get("dependencies")
    for one in wanted if isinstance(wanted, list) else []:
        name = text_of(one) or text_of(table(one).get("name"))
        if name:
            manifest.depend(name, None, "prod")
    manifest.package = False


def read_xcode(manifest: Manifest) -> None:
    """``project.pbxproj``: of all that it holds, whether a target is a program."""
    if any(f"com.apple.product-type.{kind}" in manifest.text for kind in ("application", "tool")):
        manifest.facts["application"] = "yes"


def read_zig(manifest: Manifest) -> None:
    """A build program: whether it makes one that can be started, and its name where it is written out."""
    text = blank_comments(manifest.text)
    if match := re.search(r"\baddExecutable\(([^;]{0,400})", text):
        name = re.search(r"\.name\s*=\s*\"([^\"\n]+)\"", match[1])
        manifest.facts["executable"] = name[1] if name else "yes"


def read_zon(manifest: Manifest) -> None:
    if match := re.search(r"\.name\s*=\s*(?:\.(\w+)|\"([^\"]+)\")", manifest.text):
        manifest.name = match[1] or match[2]
    if match := re.search(r"\.minimum_zig_version\s*=\s*\"([^\"]+)\"", manifest.text):
        manifest.state("zig", "build.zig.zon", match[1], manifest.line_at(match.start()))
