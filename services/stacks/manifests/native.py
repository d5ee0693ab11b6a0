"""What builds native programs: CMake, Meson, Conan, vcpkg, Xcode, Zig, Cargo, Go modules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from services.stacks.manifests.formats import blank_comments, read_json, read_toml
from services.stacks.manifests.model import Manifest, Scope, dig, table, text_of, texts


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
        manifest.package = False  # a subfolder of another project
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
    """Read a ``vcpkg.json``. Raises: Broken."""
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
    """Read a ``build.zig``: whether it builds an executable, and its name if it is literal."""
    text = blank_comments(manifest.text)
    if match := re.search(r"\baddExecutable\(([^;]{0,400})", text):
        name = re.search(r"\.name\s*=\s*\"([^\"\n]+)\"", match[1])
        manifest.facts["executable"] = name[1] if name else "yes"


def read_zon(manifest: Manifest) -> None:
    if match := re.search(r"\.name\s*=\s*(?:\.(\w+)|\"([^\"]+)\")", manifest.text):
        manifest.name = match[1] or match[2]
    manifest.state_by(re.search(r"\.minimum_zig_version\s*=\s*\"([^\"]+)\"", manifest.text), "zig", "build.zig.zon")


_CARGO: tuple[tuple[str, Scope], ...] = (
    ("dependencies", "prod"),
    ("dev-dependencies", "dev"),
    ("dev_dependencies", "dev"),
    ("build-dependencies", "dev"),
)


def read_cargo(manifest: Manifest) -> None:
    """Read a ``Cargo.toml``. Raises: Broken."""
    data = manifest.data = read_toml(manifest.text)
    package = table(data.get("package") or data.get("project"))
    manifest.name, manifest.version = text_of(package.get("name")), text_of(package.get("version"))
    manifest.package = bool(package) or "workspace" not in data
    targets = [data, *(table(target) for target in table(data.get("target")).values())]
    for target in targets:
        for key, scope in _CARGO:
            _crates(manifest, table(target.get(key)), scope)
    if (value := text_of(package.get("rust-version"))) or (
        value := text_of(dig(data, "workspace", "package", "rust-version"))
    ):
        manifest.state("rust", "rust-version", value, manifest.line_of("rust-version"))
    if "bin" in data or text_of(package.get("default-run")):
        manifest.facts["bin"] = text_of(package.get("default-run")) or _first_binary(data) or manifest.name or ""
    if "lib" in data:
        manifest.facts["lib"] = "yes"


def _first_binary(data: Mapping[str, object]) -> str | None:
    binaries = data.get("bin")
    return text_of(table(binaries[0]).get("name")) if isinstance(binaries, list) and binaries else None


def _crates(manifest: Manifest, wanted: Mapping[str, object], scope: Scope) -> None:
    for alias, wanted_version in wanted.items():
        spec = table(wanted_version)
        name = text_of(spec.get("package")) or alias
        version = wanted_version if isinstance(wanted_version, str) else text_of(spec.get("version"))
        if spec.get("workspace") is True:
            version = "workspace"
        match = re.search(
            rf"(?m)^[ \t]*(?:\[[\w.-]*dependencies\.)?[\"']?{re.escape(alias)}[\"']?\s*[\].=]", manifest.text
        )
        optional = spec.get("optional") is True and scope == "prod"
        at, features = match.start() if match else None, tuple(texts(spec.get("features")))
        manifest.depend(name, version, "optional" if optional else scope, at, extras=features)


_REQUIRE = re.compile(
    r"(?m)^[ \t]*(?:require[ \t]+)?"
    r"((?<![\w.~/-])(?:[\w~-][\w.~-]{0,200}/[^\s]{1,300}|[\w-]{1,60}(?:\.[\w-]{1,60}){1,5}))[ \t]+(v[^\s/]+)"
    r"([ \t]*//[ \t]*indirect)?"
)
_DIRECTIVE = re.compile(r"(?m)^(module|go|toolchain)[ \t]+\"?([^\s\"]+)")


def read_go_mod(manifest: Manifest) -> None:
    text = blank_replace(manifest.text)
    for match in _DIRECTIVE.finditer(text):
        line = manifest.line_at(match.start())
        if match[1] == "module":
            manifest.name = match[2]
        elif match[1] == "go":
            manifest.state("go", "go.mod", match[2], line)
        elif match[2] != "default":
            manifest.state("go", "toolchain", match[2].removeprefix("go"), line)
    for match in _REQUIRE.finditer(text):
        manifest.depend(match[1], match[2], "indirect" if match[3] else "prod", match.start(1))


def blank_replace(text: str) -> str:
    """Return the text without ``replace`` and ``exclude``, which name modules that may be unused."""
    blank = re.compile(r"(?ms)^(?:replace|exclude|retract|tool)\b[ \t]*(?:\(.*?^\)|[^\n]*)")
    return blank.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


_GO_USE = re.compile(r"(?m)^[ \t]*(?:use[ \t]+)?\"?(\.{1,2}(?:/[^\s\")]*)?|[\w-][^\s\")(]*)\"?[ \t]*$")


def go_work_members(text: str) -> list[str]:
    plain = blank_comments(text)
    inside = [block[1] for block in re.finditer(r"(?ms)^use[ \t]*\((.*?)^\)", plain)]
    single = [match[1] for match in re.finditer(r"(?m)^use[ \t]+([^\s(]+)", plain)]
    listed = [match[1] for block in inside for match in _GO_USE.finditer(block)]
    return [*single, *listed]
