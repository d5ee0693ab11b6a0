"""Which languages belong to the packages of an ecosystem, and which tools' versions concern it."""

from __future__ import annotations

from functools import cache

FAMILIES = {
    "npm": ("javascript", "typescript", "coffeescript", "rescript", "purescript", "elm"),
    "deno": ("typescript", "javascript"), "jsr": ("typescript", "javascript"), "pypi": ("python",), "cargo": ("rust",),
    "go": ("go",), "maven": ("java", "kotlin", "scala", "groovy", "clojure"), "nuget": ("csharp", "fsharp", "vbnet"),
    "gem": ("ruby",), "jekyll": ("ruby",), "composer": ("php",), "hex": ("elixir", "erlang", "gleam"), "pub": ("dart",),
    "swift": ("swift",), "shards": ("crystal",), "hackage": ("haskell",), "cpan": ("perl",), "cran": ("r",),
    "native": ("c++", "c", "objective-c", "cuda", "fortran", "assembly"), "julia": ("julia",), "opam": ("ocaml",),
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
    "hugo": ("hugo",), "luarocks": ("lua",), "bazel": ("bazel",), "xcode": ("swift",),
}  # fmt: skip


@cache
def ecosystems_of(language: str) -> frozenset[str]:
    return frozenset(ecosystem for ecosystem, languages in FAMILIES.items() if language in languages)


def ecosystem_of(language: str) -> str:
    return next((ecosystem for ecosystem, languages in FAMILIES.items() if language in languages), "")
