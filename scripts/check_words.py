"""``python -m scripts.check_words [-v] [PATH ...]``: count words that the style guide replaces, by kind of text.

Texts of the code (docstrings, comments, messages), of the console and of the pages may hold at most one such word in a
thousand. ``-v`` lists every place. CONTRIBUTING.md has the words to use instead.
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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PER_THOUSAND = 1.0
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
    "stranger": (r"strangers?", "untrusted"),
    "archaic": (
        r"seldom|thereby|hitherto|thereof|therein|whereby|lest|upon|shall|nought|naught|wholly|fares?|meanwhile it",
        "rarely, so, until now",
    ),
}
_WORDS = {name: re.compile(rf"\b(?:{pattern})\b", re.I) for name, (pattern, _) in WORDS.items()}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_QUOTED = re.compile(r"```.*?```|``[^`]*``|`[^`]*`", re.S)
_SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")
_SCRIPT = re.compile(r"/\*(.*?)\*/|(?<![:\w])//(.*)|\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`|>([^<>{}]+)<", re.S)
#: Generated from others, or data of a test.
_LEFT_OUT = re.compile(r"(^|/)(_sync|node_modules|fixtures|files)/|check_words\.py$|\.sql$")


class Text(NamedTuple):
    file: str
    line: int
    kind: str
    words: str


def texts(paths: Sequence[str]) -> Iterator[Text]:
    """Yield the texts of the files that git keeps under the paths."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    for name in filter(None, listed):
        if _LEFT_OUT.search(name):
            continue
        if name.endswith(".py"):
            yield from _of_python(name, (ROOT / name).read_text("utf-8"))
        elif name.endswith(".md"):
            yield from _of_page(name, (ROOT / name).read_text("utf-8"))
        elif name.endswith((".ts", ".tsx")):
            yield from _of_script(name, (ROOT / name).read_text("utf-8"))


def _of_python(name: str, source: str) -> Iterator[Text]:
    area = "tests" if name.startswith(("tests/", "benchmarks/", "examples/")) else "code"
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
    plain = _QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
    for number, line in enumerate(plain.split("\n"), 1):
        yield Text(name, number, kind, line)


def _of_script(name: str, source: str) -> Iterator[Text]:
    kind = "console: tests" if "/tests/" in name else "console"
    for match in _SCRIPT.finditer(source):
        words = next(group for group in match.groups() if group is not None)
        if _SENTENCE.search(words):
            yield Text(name, source.count("\n", 0, match.start()) + 1, kind, words)


def counted(found: Sequence[Text]) -> tuple[Counter[str], dict[str, list[tuple[Text, str]]]]:
    """Return how many words each kind of text has, and its places with a word to replace."""
    sizes: Counter[str] = Counter()
    places: defaultdict[str, list[tuple[Text, str]]] = defaultdict(list)
    for text in found:
        plain = _QUOTED.sub(" ", text.words)
        sizes[text.kind] += len(_WORD.findall(plain))
        for name, pattern in _WORDS.items():
            places[text.kind] += [(text, name)] * len(pattern.findall(plain))
    return sizes, places


def main() -> int:
    """Print the table; the status is 1 when a kind of text is over the limit."""
    parser = argparse.ArgumentParser(prog="python -m scripts.check_words")
    parser.add_argument("-v", action="store_true", help="list every place, with better words")
    parser.add_argument("paths", nargs="*", default=["."])
    given = parser.parse_args()
    sizes, places = counted(list(texts(given.paths)))
    over = False
    for kind, size in sorted(sizes.items()):
        share = 1000 * len(places[kind]) / max(size, 1)
        over = over or share > PER_THOUSAND
        if given.v:
            for text, name in places[kind]:
                sys.stdout.write(f"{text.file}:{text.line}: {name!r}: use {WORDS[name][1]}\n")
        if given.v or share > PER_THOUSAND:
            sys.stdout.write(f"{kind}: {len(places[kind])} in {size:,} words, {share:.1f} in a thousand\n")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
