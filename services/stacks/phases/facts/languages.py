"""Ports and variables in code, language by language: one row each, with regular expressions as data.

In the expressions ``<name>`` is the placeholder for a variable's name, and ``<port>`` for a port's number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class CodeLanguage:
    """The endings of its files, how it reads a variable of the environment, and how it listens on a port."""

    endings: tuple[str, ...]
    variables: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()


#: What is searched for in every language.
_COMMON = CodeLanguage(
    endings=(),
    variables=(
        r"\b(?:getenv|env(?:\.(?:int|bool|float|array|json))?)\(\s*['\"]<name>['\"]",
        r"\$\{<name>(?::[^}\n]{0,200})?\}",
    ),
    ports=(
        r"\.listen\(\s*\{?\s*(?:port\s*:\s*)?<port>",
        r"\bPORT['\"]?\]?\)?\s*(?:\|\||\?\?|,|or)\s*['\"]?<port>",
        r"\bport\s*[:=]\s*(?:int\()?<port>",
        r"\bPORT\s*=\s*<port>",
        r"(?<!//)(?<!@)(?:0\.0\.0\.0|127\.0\.0\.1|localhost|\[::\]):(\d{4,5})\b",
        r"(?:env\.int|getenv)\(\s*['\"]PORT['\"]\s*,\s*['\"]?<port>",
    ),
)
LANGUAGES = {
    "JavaScript": CodeLanguage(
        (".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", ".vue", ".svelte"),
        variables=(
            r"process\.env\.<name>",
            r"process\.env\[['\"]<name>['\"]\]",
            r"import\.meta\.env\.<name>",
            r"(?:Bun|Deno)\.env\.(?:get\(['\"])?<name>",
        ),
    ),
    "Python": CodeLanguage(
        (".py",), variables=(r"os\.environ(?:\.get)?[\[(]\s*['\"]<name>['\"]", r"os\.getenv\(\s*['\"]<name>['\"]")
    ),
    "Ruby": CodeLanguage(
        (".rb", ".ru"),
        variables=(r"\bENV(?:\.fetch)?[\[(]\s*['\"]<name>['\"]",),
        ports=(r"\bset\s+:port\s*,\s*<port>",),
    ),
    "Crystal": CodeLanguage((".cr",), variables=(r"\bENV(?:\.fetch)?[\[(]\s*['\"]<name>['\"]",)),
    "Julia": CodeLanguage((".jl",), variables=(r"\bENV\[\s*['\"]<name>['\"]",)),
    "PHP": CodeLanguage((".php",), variables=(r"\$_(?:ENV|SERVER)\[['\"]<name>['\"]\]",)),
    "Go": CodeLanguage(
        (".go",),
        variables=(r"os\.(?:Getenv|LookupEnv)\(\s*\"<name>\"",),
        ports=(r"(?:ListenAndServe|\.Run|\.Start|\.Listen)\(\s*\"[\w.]*:<port>\"", r"Addr:\s*\"[\w.]*:<port>\""),
    ),
    "Rust": CodeLanguage(
        (".rs",),
        variables=(r"env::var(?:_os)?\(\s*\"<name>\"", r"(?:env!|option_env!)\(\s*\"<name>\""),
        ports=(
            r"\(\s*\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]\s*,\s*<port>\s*\)",
            r"\.bind\(\(\s*\"[\d.]+\"\s*,\s*<port>\s*\)",
            r"unwrap_or(?:_else)?\([^)]{0,40}?\"?(\d{4,5})",
        ),
    ),
    "JVM": CodeLanguage(
        (".java", ".kt", ".scala", ".clj"),
        variables=(r"System\.getenv\(\s*\"<name>\"",),
        ports=(r"\bserver\.port\s*[=:]\s*(?:\$\{\w+:)?<port>", r"\.start\(\s*(\d{4,5})\s*\)"),
    ),
    ".NET": CodeLanguage(
        (".cs", ".fs"),
        variables=(r"GetEnvironmentVariable\(\s*\"<name>\"",),
        ports=(
            r"(?:UseUrls|\.Run|Urls\.Add)\(\s*\"https?://[\w.*+\[\]:-]{0,40}:<port>",
            r"Listen(?:AnyIP|Localhost)\(\s*<port>",
        ),
    ),
    "Elixir": CodeLanguage((".ex", ".exs"), variables=(r"System\.(?:get_env|fetch_env!?)\(\s*\"<name>\"",)),
    "C++": CodeLanguage((".cpp", ".cc", ".c"), ports=(r"addListener\(\s*\"[\d.]+\"\s*,\s*<port>",)),
    "Haskell": CodeLanguage((".hs",), ports=(r"\brun\s+(\d{4,5})\s+\w",)),
    "others": CodeLanguage((".swift", ".dart", ".pl", ".r", ".R", ".gleam", ".nim", ".ml")),
}
ENDINGS = tuple(ending for language in LANGUAGES.values() for ending in language.endings)
_BY_ENDING = {ending: language for language in LANGUAGES.values() for ending in language.endings}


@cache
def variable_pattern(ending: str) -> re.Pattern[str]:
    """Return a pattern of code with that ending that reads a variable; the one group that is set is its name."""
    expressions = (*_BY_ENDING[ending].variables, *_COMMON.variables)
    return re.compile("|".join(expressions).replace("<name>", "([A-Z][A-Z0-9_]+)"))


@cache
def port_pattern(ending: str) -> re.Pattern[str]:
    """Return a pattern of code with that ending that names its port; the one group that is set is its number."""
    expressions = (*_COMMON.ports, *_BY_ENDING[ending].ports)
    return re.compile("|".join(expressions).replace("<port>", r"(\d{2,5})\b"))
