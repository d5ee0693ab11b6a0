"""BibTeX: entries with braces, quotes, ``#`` and ``@string``, read in one pass over the text.

Own code: bibtexparser takes seconds for a few hundred kilobytes, and what a tenant sends is read in the worker
(docs/decisions). The format: https://www.bibtex.org/Format/
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from services.execution.documents.page.citations.work import MOST, Name, Work, text_of

_MAX_ENTRIES = 5_000
_MAX_FIELDS = 100
_HEAD = re.compile(r"@\s*([A-Za-z]{1,40})\s*([{(])\s*")
_KEY = re.compile(r"([^\s,{}()=\"#%~\\]{1,200})\s*,")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w:.+/-]{0,60})\s*=\s*")
_BARE = re.compile(r"[^\s,{}()#\"]{1,200}")
_AND = re.compile(r"\s+#\s*|\s*#\s*")
_NOT_WORKS = frozenset({"comment", "preamble", "string"})
_WHOLE = frozenset(
    {"book", "booklet", "manual", "mastersthesis", "phdthesis", "techreport", "proceedings", "online", "software"}
)
_MONTHS = {name: name.capitalize() for name in "jan feb mar apr may jun jul aug sep oct nov dec".split()}  # noqa: SIM905
_LETTER_OF = r"(?:\{\s*\\?([A-Za-z])\s*\}|\s*\\?([A-Za-z]))"
_ACCENT = re.compile(rf"\\([`'^\"~=.]){_LETTER_OF}|\\([uvHcdbkr])(?=[{{\s]){_LETTER_OF}")
_COMBINING = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327", "k": "\u0328", "d": "\u0323",
    "b": "\u0331",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
    "i": "ı", "j": "ȷ",
}  # fmt: skip
_LETTER = re.compile(r"\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j)(?![A-Za-z])\s?")
_COMMAND = re.compile(r"\\[A-Za-z]+\s*")
_SIGN = re.compile(r"\\([&%$#_{}])")


def works_of_bibtex(text: str) -> Iterator[Work]:
    """At most 5,000 of them; an entry that does not hold together is left out, and the next ``@`` goes on."""
    strings: dict[str, str] = dict(_MONTHS)
    at, entries = 0, 0
    while (head := _HEAD.search(text, at)) and entries < _MAX_ENTRIES:
        kind = head[1].lower()
        at = head.end()
        if kind in ("comment", "preamble"):
            continue  # what follows is not an entry's head, or is one of its own
        key = None if kind == "string" else _KEY.match(text, at)
        if key is None and kind != "string":
            continue
        fields, at = _fields(text, key.end() if key else at, strings)
        if key is None:
            strings |= {name: value for name, value in fields.items() if len(strings) < _MAX_ENTRIES}
        else:
            entries += 1
            yield _work(key[1], kind, fields)


def _fields(text: str, at: int, strings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """By lower-case name, and where they end."""
    fields: dict[str, str] = {}
    while (name := _FIELD.match(text, at)) and len(fields) < _MAX_FIELDS:
        value, at = _value(text, name.end(), strings)
        fields.setdefault(name[1].lower(), value)
    return fields, at


def _value(text: str, at: int, strings: Mapping[str, str]) -> tuple[str, int]:
    """Parts between ``#``."""
    parts: list[str] = []
    while True:
        if text[at : at + 1] in ("{", '"'):
            part, at = _delimited(text, at)
        elif bare := _BARE.match(text, at):
            part, at = strings.get(bare[0].lower(), bare[0]), bare.end()
        else:
            break
        if sum(map(len, parts)) <= MOST:
            parts.append(part)
        more = _AND.match(text, at)
        if more is None:
            break
        at = more.end()
    return "".join(parts), at


def _delimited(text: str, at: int) -> tuple[str, int]:
    """Return the text between braces or quotes, and where it ends; inner braces are matched."""
    quoted, depth, begin = text[at] == '"', 0, at + 1
    at = begin
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "{":
            depth += 1
        elif sign == "}":
            if depth == 0:
                break
            depth -= 1
        elif sign == '"' and quoted and depth == 0:
            break
        at += 1
    return text[begin : min(at, begin + 4 * MOST)], min(at + 1, len(text))


def _work(key: str, kind: str, fields: Mapping[str, str]) -> Work:
    def plain(*names: str) -> str:
        return next((plain_text(fields[name]) for name in names if fields.get(name)), "")

    year = re.search(r"\d{4}", fields.get("year") or fields.get("date") or "")
    return Work(
        key,
        authors=tuple(_authors(fields.get("author") or fields.get("editor") or "")),
        year=year[0] if year else plain("year"),
        title=plain("title"),
        container=plain("journal", "journaltitle", "booktitle", "maintitle"),
        volume=plain("volume"),
        issue=plain("number", "issue"),
        pages=re.sub(r"\s*--+\s*", "-", plain("pages")),
        publisher=plain("publisher", "institution", "school", "organization", "howpublished"),
        doi=plain("doi"),
        url=plain("url"),
        whole=kind in _WHOLE,
    )


def _authors(value: str) -> Iterator[Name]:
    """``Family, Given``, ``Given Family``, ``{An Organisation}``; each after ``and``."""
    for each in re.split(r"\s+and\s+", value[: 10 * MOST])[:200]:
        name = each.strip()
        if name.startswith("{") and name.endswith("}"):
            yield Name(plain_text(name))
        elif "," in name:
            family, *_, given = name.split(",")
            yield Name(plain_text(family), plain_text(given))
        elif name:
            words = plain_text(name).split()
            # "von" and the like belong to the family name.
            first = next((at for at, word in enumerate(words[:-1]) if at and word.islower()), len(words) - 1)
            yield Name(" ".join(words[first:]), " ".join(words[:first]))


def plain_text(value: str) -> str:
    """Remove LaTeX: accents become letters; braces and other commands are dropped."""
    text = _ACCENT.sub(_accented, value[: 4 * MOST])
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    text = _COMMAND.sub("", _SIGN.sub(r"\1", text.replace("~", " ").replace("---", "\u2014")))
    return text_of(unicodedata.normalize("NFC", text.replace("{", "").replace("}", "")))


def _accented(match: re.Match[str]) -> str:
    mark, letter = match[1] or match[4], match[2] or match[3] or match[5] or match[6]
    return unicodedata.normalize("NFC", letter + _COMBINING[mark])
