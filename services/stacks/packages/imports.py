"""Which modules code imports, language by language, and by which modules a technology is imported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from services.stacks.rules.technologies import Technology

_JAVASCRIPT = re.compile(
    r"""(?:\bfrom\s*|\brequire\(\s*|\bimport\(\s*|\bimport\s+)["']((?:@[\w.-]+/)?[\w.-]+)(?:/[^"'\n]*)?["']"""
)
#: How each language imports: the endings of its files, and a pattern whose groups are modules.
_LANGUAGES: Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    "npm": ((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".vue", ".svelte"), _JAVASCRIPT),
    "pypi": ((".py",),
    re.compile(r"(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))")),
    "go": ((".go",), re.compile(r"\"([\w-]+(?:\.[\w-]+)+/[\w./~-]+)\"")),
    "cargo": ((".rs",), re.compile(r"(?<![\w:])(?:use\s+|extern\s+crate\s+)?([a-z_]\w*)(?=::|;)")),
    "maven": ((".java", ".kt", ".scala", ".groovy"),
    re.compile(r"(?m)(?:^[ \t]*import[ \t]+(?:static[ \t]+)?|\b(?:extends|with)[ \t]+(?=[a-z]))([\w.]+)")),
    "gem": ((".rb", ".ru"),
    re.compile(r"\brequire[ \t(]+[\"']([\w-]+)|(?m:^)(?![ \t]*#)[^\n]*?(?<![\w:.])([A-Z]\w*)(?=::|\.|[ \t]*(?m:$))")),
    "composer": ((".php",),
    re.compile(r"(?m:^)[ \t]*use[ \t]+(?:function[ \t]+|const[ \t]+)?\\?([A-Z]\w*)|[ \t(]\\([A-Z]\w*)(?=\\)")),
    "hex": ((".ex", ".exs"),
    re.compile(r"(?m:^)(?:[ \t]*(?:use|import|alias|require)[ \t]+([A-Z]\w*)"
               r"|(?![ \t]*#)[^\n]*?(?<![\w.:])([A-Z]\w*)(?=\.[A-Z\w]))")),
    "nuget": ((".cs", ".fs", ".razor"), re.compile(r"(?m)^[ \t]*(?:global[ \t]+)?(?:@?using|open)[ \t]+([\w.]+)")),
}  # fmt: skip
ECOSYSTEM_OF = {ending: ecosystem for ecosystem, (endings, _) in _LANGUAGES.items() for ending in endings}


def ecosystem_of_file(path: str) -> str | None:
    """Return the ecosystem whose code a file holds."""
    return ECOSYSTEM_OF.get(path[path.rfind(".") :])


def imported(ecosystem: str, text: str) -> Iterator[tuple[str, int]]:
    """Yield each module that a text imports, with its offset."""
    for match in _LANGUAGES[ecosystem][1].finditer(text):
        for group in match.groups():
            for name in group.split(",") if group else ():
                yield name.strip(), match.start()


@cache
def modules_of(technology: Technology, ecosystem: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the modules of a technology: exact names, and beginnings."""
    names = list(technology.list("packages")) if technology.ecosystem == ecosystem else []
    elsewhere = technology.spec.get("elsewhere")
    more = elsewhere.get(ecosystem) if isinstance(elsewhere, dict) else None
    names += [name for name in more if isinstance(name, str)] if isinstance(more, list) else []
    companions = set(technology.list("companions"))
    exact: list[str] = list(technology.list("modules"))
    beginnings: list[str] = []
    for name in names:
        if name in companions or name.startswith(("plugin:", "sdk:", "framework:", "sbt-plugin:", "sbt-build:")):
            continue
        plain = name.removesuffix("*")
        if ecosystem in {"pypi", "cargo"}:
            exact.append(plain.replace("-", "_").lower())
        elif ecosystem in {"gem", "hex"}:
            exact += [plain, "".join(part.capitalize() for part in re.split(r"[-_]", plain))]
        elif ecosystem == "composer":
            continue  # namespaces are unlike the names of packages: ``modules`` gives them
        elif ecosystem == "go":
            beginnings.append(plain)
        elif ecosystem == "maven":
            group = plain.partition(":")[0].rstrip(".")
            beginnings += [group] if group.count(".") else []
        elif ecosystem == "nuget":
            whole = plain.rstrip(".").lower()
            first = whole.partition(".")[0]
            beginnings.append(whole if first in {"microsoft", "system"} else first)
        else:
            (beginnings if name.endswith("*") else exact).append(plain)
    if ecosystem in {"maven", "nuget"}:  # packages and namespaces, of which code imports what is in them
        beginnings += [name.lower() if ecosystem == "nuget" else name for name in exact]
        exact = []
    return tuple(exact), tuple(beginnings)


def uses(technology: Technology, ecosystem: str, module: str) -> bool:
    """Return whether an imported module belongs to a technology."""
    exact, beginnings = modules_of(technology, ecosystem)
    name = module.partition(".")[0].lower() if ecosystem == "pypi" else module
    name = name.lower() if ecosystem == "nuget" else name
    return name in exact or any(
        name == one or name.startswith((f"{one}/", f"{one}.", one if one[-1] in "/." else f"{one}/"))
        for one in beginnings
    )
