"""Linguist's data, loaded once, in the form that the scan needs: one dictionary lookup per file."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import re2

#: The most probable language of a shared extension when the content is not read or does not decide.
MAX_LIKELY = {
    ".as": "ActionScript", ".asm": "Assembly", ".cl": "OpenCL", ".cls": "TeX", ".cs": "C#", ".d": "D",
    ".es": "JavaScript", ".ex": "Elixir", ".f": "Fortran", ".for": "Fortran", ".fs": "F#", ".frag": "GLSL",
    ".gd": "GDScript", ".gs": "JavaScript", ".h": "C", ".hh": "C++", ".html": "HTML", ".l": "Lex", ".lean": "Lean 4",
    ".lisp": "Common Lisp", ".lsp": "Common Lisp", ".m": "Objective-C", ".md": "Markdown", ".ml": "OCaml",
    ".mm": "Objective-C++", ".mojo": "Mojo", ".nu": "Nushell", ".odin": "Odin", ".p": "OpenEdge ABL", ".php": "PHP",
    ".pl": "Perl", ".pm": "Perl", ".pp": "Puppet", ".r": "R", ".re": "Reason", ".res": "ReScript", ".rs": "Rust",
    ".s": "Assembly", ".sc": "Scala", ".scm": "Scheme", ".sol": "Solidity", ".sql": "SQL", ".st": "Smalltalk",
    ".star": "Starlark", ".t": "Perl", ".ts": "TypeScript", ".tsx": "TSX", ".v": "Verilog", ".sw": "Sway",
    ".typ": "Typst", ".cairo": "Cairo", ".noir": "Noir", ".nr": "Noir", ".bas": "BASIC", ".mo": "Motoko",
    ".shader": "ShaderLab", ".fx": "HLSL", ".rpy": "Ren'Py", ".yy": "Yacc", ".cake": "C#", ".cue": "CUE", ".b": "Limbo",
}  # fmt: skip
#: Shared extensions whose other owners hardly exist: read only in small trees.
DOMINANT = frozenset(
    {".ts", ".tsx", ".rs", ".cs", ".php", ".md", ".html", ".sql", ".ex", ".json", ".sol", ".gd", ".gs"}
)


#: Some of Linguist's patterns look around: what they are given is bounded, so that no file can hold them up.
MAX_JUDGED = 12_000


@dataclass(frozen=True)
class Heuristic:
    """All the checks have to hold; a check is a pattern and whether it must be found."""

    languages: tuple[str, ...]
    checks: tuple[tuple[bool, str], ...]


@dataclass(frozen=True)
class Tables:
    extensions: Mapping[str, Sequence[str]]
    filenames: Mapping[str, Sequence[str]]
    interpreters: Mapping[str, Sequence[str]]
    heuristics: Mapping[str, Sequence[Heuristic]]
    groups: Mapping[str, str]  #: language to the one it is counted under
    counted: frozenset[str]  #: programming and markup languages
    programming: frozenset[str]
    long_endings: frozenset[str]  #: last parts of extensions with several dots
    vendored: Sequence[str]
    documentation: Sequence[str]
    by_name: Mapping[str, str]  #: lower-case name to the name

    def candidates(self, name: str) -> Sequence[str]:
        """Return the possible languages of a file name."""
        named = self.filenames.get(name)
        if named:
            return named
        lower = name.lower()
        dot = lower.rfind(".")
        if dot < 0:
            return ()
        ending = lower[dot:]
        if ending in self.long_endings:
            at = lower.find(".")
            while 0 <= at < dot:
                if lower[at:] in self.extensions:
                    return self.extensions[lower[at:]]
                at = lower.find(".", at + 1)
        return self.extensions.get(ending, ())

    def decide(self, name: str, candidates: Sequence[str], text: str) -> str:
        """Return the language of a file with a shared extension, by its content."""
        ending = name[name.rfind(".") :].lower()
        text = text[:MAX_JUDGED]
        for rule in self.heuristics.get(ending, ()):
            if all((_compiled(pattern).search(text) is not None) is wanted for wanted, pattern in rule.checks):
                return rule.languages[0]
        return self.likely(ending, candidates)

    def likely(self, ending: str, candidates: Sequence[str]) -> str:
        return MAX_LIKELY.get(ending, candidates[0])

    def by_shebang(self, text: str) -> str | None:
        """Return the language whose interpreter the first line names."""
        line = text.partition("\n")[0]
        words = line[2:].split() if line.startswith("#!") else []
        if words and words[0].rpartition("/")[2] == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            return None
        interpreter = words[0].rpartition("/")[2]
        for name in (interpreter, re.sub(r"[\d.]+$", "", interpreter)):
            if name in self.interpreters:
                languages = self.interpreters[name]
                return min(
                    languages, key=lambda language: (language not in {"Shell", "Python", "JavaScript"}, language)
                )
        return None


def load_tables() -> Tables:
    data = json.loads(files(__package__).joinpath("data.json").read_text("utf-8"))
    kinds = {name: kind for name, (kind, _) in data["languages"].items()}
    return Tables(
        extensions=data["extensions"],
        filenames=data["filenames"],
        interpreters=data["interpreters"],
        heuristics={
            extension: [Heuristic(tuple(names), tuple((bool(w), p) for w, p in checks)) for names, checks in rules]
            for extension, rules in data["heuristics"].items()
        },
        groups={name: group for name, (_, group) in data["languages"].items()},
        counted=frozenset(name for name, kind in kinds.items() if kind in {"programming", "markup"}),
        programming=frozenset(name for name, kind in kinds.items() if kind == "programming"),
        long_endings=frozenset(e[e.rfind(".") :] for e in data["extensions"] if e.count(".") > 1),
        by_name={name.lower().replace(" ", "-"): name for name in data["languages"]},
        vendored=data["vendored"],
        documentation=data["documentation"],
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile for re2, which runs in linear time; for ``re`` when a pattern has lookarounds, which re2 lacks."""
    options = re2.Options()
    options.log_errors = False
    try:
        linear: re.Pattern[str] = re2.compile(f"(?m){pattern}", options)
    except re2.error:
        pass
    else:
        return linear
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(pattern, re.M)
