"""Which words of Python code lead further than to values: to the interpreter, its libraries, or every name."""

from __future__ import annotations

import re

LIBRARY = "@library"  #: all that code of a library may read
EVERYTHING = "@everything"
BUILTINS, PATCHES, OPTIONS, PROCESS = "@builtins", "@patches", "@options", "@process"
FILES, MODULES, RANDOM, DUCKDB = "@files", "@modules", "@random", "@duckdb"

AMBIENT = frozenset([BUILTINS, PATCHES])  #: what any code reads
PARTS = frozenset([OPTIONS, PROCESS, FILES, MODULES, RANDOM])  #: what ``LIBRARY`` is

_NAMESPACE = (
    "exec eval globals locals vars dir __import__ compile breakpoint help __main__ builtins __builtins__ __globals__"
    " __subclasses__ f_globals f_locals f_back gi_frame cr_frame ag_frame tb_frame _getframe get_type_hints modules"
)
_DRAWS = "getstate get_state setstate set_state bit_generator"

#: Words whose appearance in code leads further than the values of its names.
LEADS = {
    **dict.fromkeys(_NAMESPACE.split(), EVERYTHING),
    **dict.fromkeys(("open", "input"), LIBRARY),
    **dict.fromkeys(_DRAWS.split(), RANDOM),
}

_PURE = (
    "__future__ abc base64 binascii bisect cmath collections contextlib copy dataclasses enum fractions functools"
    " hashlib heapq html itertools json keyword math numbers operator re string struct textwrap types typing"
    " typing_extensions unicodedata zlib"
)
_INTO_NAMES = (
    "__main__ builtins cProfile code ctypes doctest gc importlib inspect pdb pickle profile runpy shelve timeit trace"
    " unittest"
)
PURE = frozenset(_PURE.split())  #: modules that read nothing but what they are given
INTO_NAMES = frozenset(_INTO_NAMES.split())  #: modules through which code comes to names that it does not spell out

_WORD = re.compile(r"[^\W\d]\w*")
_LOCALE_FORMAT = re.compile(r"\{[^{}]*:[^{}]*n\}|^[<>=^+\- #0-9,_.]*n$")


def module_leads(name: str) -> str | None:
    """Return where an import of this module leads; ``None`` when it reads nothing by itself."""
    top = name.partition(".")[0]
    if top in INTO_NAMES:
        return EVERYTHING
    return DUCKDB if top == "duckdb" else None if top in PURE else LIBRARY


def words_of(text: str) -> set[str]:
    """Return the words of a text of the code: each may be a name that a library looks up (``df.query("a > @b")``)."""
    return set(_WORD.findall(text)) if len(text) <= 20_000 else {EVERYTHING}


def text_leads(text: str) -> bool:
    """Return whether a text may be a format that depends on the locale."""
    return _LOCALE_FORMAT.search(text) is not None
