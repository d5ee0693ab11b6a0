"""``python -m scripts.check_words [-v] [PATH ...]``: count words that the style guide replaces, by kind of text.

Each kind of text (docstrings, comments and messages of the code, of tests and of benchmarks, the console, the pages)
may have at most one such word in a thousand. Above that the status is 1, and every place is listed with better words;
``-v`` lists the places of all kinds. Prompts are counted, but without a limit: see ``NO_LIMIT``.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PER_THOUSAND = 1.0
#: Kinds without a limit, each with the reason.
NO_LIMIT = {"prompts": "recorded answers of models are found by the exact text of their prompt"}
#: Names of variables that say nothing of the value; of the code, not of tests.
VAGUE = frozenset({"found", "told", "it"})
#: Each word with what is better, as -v shows it.
WORDS: dict[str, tuple[str, str]] = {
    "tell": (r"tell(?:s|ing)?|told", "report, show, notify, log, return"),
    "look at": (r"look(?:s|ed|ing)? (?:at|whether|what)|a look", "check, inspect, read"),
    "stand": (r"stands?|stood|stand-ins?", "is, appears, is listed; placeholder"),
    "anew": (r"anew", "again, or a verb with re-"),
    "ask": (r"ask(?:s|ed|ing)?", "call, request, query"),
    "nobody": (r"nobody|somebody|anybody|everybody|whoever|whosever", "no one, or name the client, tenant, operator"),
    "came of": (r"(?:comes?|came|becomes?|became) of", "outcome, result"),
    "mend": (r"mend(?:s|ed|ing)?", "fix"),
    "beside": (r"besides?", "next to, in addition to, compared with"),
    "goes on": (r"go(?:es)? on|went on|going on", "continues"),
    "is no": (r"(?<!there )(?:is|are) no(?! longer| more| later)", "is not a, unlimited, missing"),
    "without end": (r"without end|so many", "unlimited, or the number"),
    "is none": (r"(?<!there )(?:is|are) (?-i:none)(?! of)", "is missing, is not one"),
    "bear": (r"bears?|bore|borne", "accept, allow, tolerate"),
    "in spite of": (r"in spite of", "despite, although"),
    "one's own": (r"one's own", "your own, its own"),
    "under way": (r"under way", "in progress, running, open"),
    "held against": (r"(?:hold|held|holds|holding) (?:\w+ )?against", "compare with, check against"),
    "broken off": (r"(?:break|breaks|broke|broken|breaking) off", "end, close, cut"),
    "heed": (r"heeds?|heeded|heeding", "respect, support, follow"),
    "softly": (r"softly", "gracefully"),
    "turned over": (r"turn(?:s|ed)? over", "rotate"),
    "stranger": (r"strangers?", "untrusted"),
    "archaic": (
        r"seldom|thereby|hitherto|thereof|therein|whereby|lest|upon|shall|nought|naught|wholly|fares?|meanwhile it",
        "rarely, so, until now",
    ),
}
_SPACE = re.compile(r"(?<!there) ")
#: Expressions of several words are noticed over the end of a line, too.
_WORDS = {name: re.compile(rf"\b(?:{_SPACE.sub(' +', pattern)})\b", re.I) for name, (pattern, _) in WORDS.items()}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
#: Code: fenced blocks, spans within a paragraph, targets of links.
_QUOTED = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,}).*?^[ \t>]*(?P=fence)[`~]*[ \t]*$"
    r"|(?<!`)(?P<tick>`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)(?P=tick)(?!`)|\]\([^()\s]*\)",
    re.S | re.M,
)
_SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
_SCRIPT = re.compile(r"/\*(.*?)\*/|(?<![:\w])//(.*)|\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`|>([^<>{}]+)<", re.S)
#: Generated from others, data of a test, or a license.
_LEFT_OUT = re.compile(r"(^|/)(_sync|node_modules)/|^tests/(.*/)?(fixtures|files|wild)/|check_words\.py$|/NOTICE\.md$")
_AREAS = {"tests": "tests", "benchmarks": "benchmarks", "examples": "tests"}


class Text(NamedTuple):
    file: str
    line: int
    kind: str
    words: str


def texts(paths: Sequence[str]) -> Iterator[Text]:
    """Yield the texts of the files that git keeps under the paths."""
    for name in _files(paths):
        yield from texts_of(name, (ROOT / name).read_text("utf-8"))


def _files(paths: Sequence[str]) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [name for name in listed if name.endswith((".py", ".md", ".ts", ".tsx")) and not _LEFT_OUT.search(name)]


def texts_of(name: str, source: str) -> Iterator[Text]:
    """Yield the texts of one file."""
    if name.endswith(".py"):
        yield from _of_python(name, source)
    elif name.endswith(".md"):
        yield from _of_page(name, source)
    else:
        yield from _of_script(name, source)


def _of_python(name: str, source: str) -> Iterator[Text]:
    area = _AREAS.get(name.partition("/")[0], "code")
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in prose:
                yield Text(name, node.lineno, f"{area}: docstrings", node.value)
            elif area == "code" and _SENTENCE.search(node.value) and "SELECT" not in node.value:
                yield Text(name, node.lineno, "code: messages", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(name, token.start[0], f"{area}: comments", token.string)


def _of_page(name: str, source: str) -> Iterator[Text]:
    kind = "prompts" if "/prompts/" in name or "/skills/" in name else "pages"
    yield Text(name, 1, kind, source)


def _of_script(name: str, source: str) -> Iterator[Text]:
    kind = "console: tests" if "/tests/" in name else "console"
    for match in _SCRIPT.finditer(source):
        words = next(group for group in match.groups() if group is not None)
        if _SENTENCE.search(words):
            yield Text(name, source.count("\n", 0, match.start()) + 1, kind, words)


def _without_code(words: str) -> str:
    """Return the words with blanks in place of code; lines stay where they are."""
    return _QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), words)


def counted(listed: Iterable[Text]) -> tuple[Counter[str], dict[str, list[tuple[Text, str]]]]:
    """Return how many words each kind of text has, and its places with a word to replace."""
    sizes: Counter[str] = Counter()
    places: defaultdict[str, list[tuple[Text, str]]] = defaultdict(list)
    for text in listed:
        plain = _without_code(text.words)
        sizes[text.kind] += len(_WORD.findall(plain))
        for name, pattern in _WORDS.items():
            for match in pattern.finditer(plain.replace("\n", " ")):
                # A message's line breaks are escapes, not lines of its file.
                below = 0 if text.kind == "code: messages" else plain.count("\n", 0, match.start())
                places[text.kind].append((text._replace(line=text.line + below), name))
    return sizes, places


def report(listed: Iterable[Text], every: bool = False) -> tuple[list[str], bool]:
    """Return the lines to print, and whether a kind of text is over its limit."""
    sizes, places = counted(listed)
    lines: list[str] = []
    over = False
    for kind, size in sorted(sizes.items()):
        share = 1000 * len(places[kind]) / max(size, 1)
        too_many = kind not in NO_LIMIT and share > PER_THOUSAND
        over = over or too_many
        if every or too_many:
            lines += [f"{text.file}:{text.line}: {name!r}: use {WORDS[name][1]}" for text, name in sorted(places[kind])]
            limit = f"no limit: {NO_LIMIT[kind]}" if kind in NO_LIMIT else f"at most {PER_THOUSAND:g}"
            lines.append(f"{kind}: {len(places[kind])} in {size:,} words, {share:.1f} in a thousand ({limit})")
    return lines, over


def vague_names(name: str, source: str) -> Iterator[str]:
    """Yield the places of a Python file where a variable has such a name; a field is read with its class's name."""
    tree = ast.parse(source)
    fields = {
        each.target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE and node not in fields:
            yield f"{name}:{node.lineno}: name {node.id!r}: say what the value is"
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield f"{name}:{node.lineno}: name {node.arg!r}: say what the value is"


def main() -> int:
    """Print vague names and the places of the kinds that are over the limit; the status is 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m scripts.check_words")
    parser.add_argument("-v", action="store_true", help="list the places of all kinds")
    parser.add_argument("paths", nargs="*", default=["."])
    given = parser.parse_args()
    lines, over = report(texts(given.paths), given.v)
    code = [name for name in _files(given.paths) if name.endswith(".py") and not name.startswith("tests/")]
    vague = [place for name in code for place in vague_names(name, (ROOT / name).read_text("utf-8"))]
    sys.stdout.writelines(f"{line}\n" for line in (*lines, *vague))
    return int(over or bool(vague))


if __name__ == "__main__":
    sys.exit(main())
