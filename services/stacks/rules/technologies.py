"""A technology that can be detected, its ecosystem, and the rule set: indexed for one look-up per name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from services.stacks.manifests.model import Json, text_of
from shared.contracts.detect import TechnologyKind

#: Ranks within one package: a meta framework is above the ones that it is built on.
TIERS = {
    "platform": 90, "meta": 80, "app": 75, "server-plus": 70, "server": 65, "native-ui": 60, "server-under": 45,
    "ui-app": 40, "ui": 35, "ui-base": 30, "function": 25, "function-tool": 22, "bundler": 20, "tool": 10, "docs": 5,
}  # fmt: skip


FUNCTIONS = frozenset((TIERS["function"], TIERS["function-tool"]))
SERVING = frozenset(tier for name, tier in TIERS.items() if name.startswith(("server", "meta", "platform")))


PREFIXES: Mapping[TechnologyKind, str] = {
    "language": "lang",
    "build_system": "build",
    "package_manager": "pm",
    "framework": "fw",
    "runtime": "rt",
    "orchestrator": "orch",
}


@dataclass(frozen=True)
class Technology:
    """One thing that can be detected, and what follows from it."""

    kind: TechnologyKind
    id: str
    name: str
    spec: Json = field(compare=False, hash=False)
    ecosystem: str = ""
    tier: int = 0
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False, hash=False)  #: those of ``spec``

    @property
    def rule(self) -> str:
        return f"{PREFIXES[self.kind]}.{self.id}"

    def text(self, key: str) -> str | None:
        return text_of(self.spec.get(key))

    def list(self, key: str) -> Sequence[str]:
        return self.lists.get(key, ())

    def number(self, key: str, default: float) -> float:
        value = self.spec.get(key)
        return float(value) if isinstance(value, (int, float)) else default

    @property
    def port(self) -> int | None:
        value = self.spec.get("port")
        return value if isinstance(value, int) else None

    @property
    def usual_in_dev(self) -> bool:
        return self.spec.get("dev") is True

    @property
    def anywhere(self) -> bool:
        """Whether its files prove it in a package of any ecosystem."""
        return self.spec.get("anywhere") is True

    @property
    def static(self) -> bool:
        return self.spec.get("static") is True


@dataclass
class TechnologyRules:
    """Every technology by its kind and id, and the indexes that the loader fills."""

    technologies: Mapping[tuple[TechnologyKind, str], Technology]
    version: str
    by_kind: dict[TechnologyKind, list[Technology]] = field(default_factory=lambda: defaultdict(list))
    by_dependency: dict[tuple[str, str], Technology] = field(default_factory=dict)  #: by ecosystem and package name
    by_prefix: dict[str, list[tuple[str, Technology]]] = field(default_factory=lambda: defaultdict(list))
    unless_prefix: tuple[str, ...] = ()
    by_file: dict[str, list[Technology]] = field(default_factory=lambda: defaultdict(list))
    #: Frameworks by a file deeper in the package, by its top folder.
    by_path: dict[str, list[tuple[str, Technology]]] = field(default_factory=lambda: defaultdict(list))
    by_kind_of_manifest: dict[str, list[Technology]] = field(default_factory=lambda: defaultdict(list))  #: frameworks
    by_image: dict[str, Technology] = field(default_factory=dict)  #: frameworks by a container image that holds them
    by_import: dict[str, Technology] = field(default_factory=dict)  #: frameworks by a module that sources import
    #: Build systems by the kind of their manifest.
    by_manifest: dict[str, list[Technology]] = field(default_factory=lambda: defaultdict(list))
    language_of: dict[str, str] = field(default_factory=dict)  #: linguist's name to our id
    aliases: dict[tuple[TechnologyKind, str], str] = field(default_factory=dict)

    def of(self, kind: TechnologyKind) -> Sequence[Technology]:
        return self.by_kind.get(kind, ())

    def get(self, kind: TechnologyKind, id: str) -> Technology | None:
        return self.technologies.get((kind, id))

    def canonical(self, kind: TechnologyKind, name: str) -> tuple[str, str, bool]:
        """Return the id, the display name and whether it is custom, for a name in any spelling."""
        slug = re.sub(r"\s+", "-", name.strip().lower())
        for candidate in (slug, _near(slug), slug.replace("-", ""), slug.replace(".", "")):
            id = self.aliases.get((kind, candidate))
            if id:
                return id, self.technologies[kind, id].name, False
        return re.sub(r"[^a-z0-9.+#_-]", "", slug) or slug, name.strip(), True


def _near(slug: str) -> str:
    """``npm-workspaces`` is npm, ``nextjs-framework`` is Next.js."""
    return re.sub(
        r"[-_ ](?:workspaces?|build(?:-system)?|framework|lang(?:uage)?|package-manager|cli|runtime|js)$", "", slug
    )


FAMILIES = {
    "npm": ("javascript", "typescript", "coffeescript", "rescript", "purescript", "elm"),
    "deno": ("typescript", "javascript"), "jsr": ("typescript", "javascript"), "pypi": ("python",), "cargo": ("rust",),
    "go": ("go",), "maven": ("java", "kotlin", "scala", "groovy", "clojure"), "nuget": ("csharp", "fsharp", "vbnet"),
    "gem": ("ruby",), "jekyll": ("ruby",), "composer": ("php",), "hex": ("elixir", "erlang", "gleam"), "pub": ("dart",),
    "swift": ("swift",), "shards": ("crystal",), "hackage": ("haskell",), "cpan": ("perl",), "cran": ("r",),
    "native": ("c++", "c", "objective-c", "cuda", "fortran", "assembly"), "julia": ("julia",), "opam": ("ocaml",),
    "bower": ("javascript", "typescript", "coffeescript"), "rescript": ("rescript",), "purescript": ("purescript",),
    "lazarus": ("pascal",), "delphi": ("pascal",), "unreal": ("c++",), "unity": ("csharp",),
    "nimble": ("nim",), "zig": ("zig",), "cocoapods": ("swift", "objective-c"),
    "xcode": ("swift", "objective-c"), "terraform": ("terraform",),
    "elm": ("elm",), "luarocks": ("lua",), "v": ("v",), "dub": ("d",), "fortran": ("fortran",), "ada": ("ada",),
}  # fmt: skip
#: Whose versions concern a package of an ecosystem.
TOOLS = {
    "npm": ("node", "npm", "pnpm", "yarn", "bun"), "deno": ("deno",), "pypi": ("python", "uv", "poetry"),
    "cargo": ("rust",), "go": ("go",), "maven": ("java", "kotlin", "scala", "clojure", "gradle", "maven", "sbt"),
    "nuget": ("dotnet",), "gem": ("ruby",), "jekyll": ("ruby",), "composer": ("php",),
    "hex": ("elixir", "erlang", "gleam"), "pub": ("dart", "flutter"), "swift": ("swift",), "shards": ("crystal",),
    "hackage": ("haskell",), "cpan": ("perl",), "cran": ("r",), "native": ("c", "c++", "cmake"), "julia": ("julia",),
    "opam": ("ocaml",), "nimble": ("nim",), "zig": ("zig",), "terraform": ("terraform",), "elm": ("elm",),
    "hugo": ("hugo",), "luarocks": ("lua",), "bazel": ("bazel",), "xcode": ("swift",), "unity": ("unity",),
}  # fmt: skip


@cache
def ecosystems_of(language: str) -> frozenset[str]:
    return frozenset(ecosystem for ecosystem, languages in FAMILIES.items() if language in languages)


def ecosystem_of(language: str) -> str:
    return next((ecosystem for ecosystem, languages in FAMILIES.items() if language in languages), "")
