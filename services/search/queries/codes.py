"""Codes: identifiers, article numbers, ISBN, versions, e-mail addresses. They cannot be reworded, so they decide.

A code has keys: its letters and digits in lower case, without the signs within it. A record is indexed by the keys of
its codes and of their parts, so that ``X-4471B`` is found by ``x4471b`` and by ``4471B``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.search.queries.identifiers import identifier_keys, identifiers
from services.search.queries.numbered import RANKING, NamedNumber, named_numbers, numbered_keys
from services.search.queries.quantities import BEFORE_AMOUNT, CAPITAL_UNITS, UNNAMING, YEAR, is_measured

#: Forms of one sign: of full width, hyphens that do not break; and signs that are not seen.
_SIGN_FORMS = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((0x3000, 0xA0, 0x202F), " "), **dict.fromkeys((0x2010, 0x2011, 0x2212), "-"),
    **dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF)),
}  # fmt: skip
#: Letters of scripts without blanks between words, or whose short words are joined to the next one.
_JOINING = (
    r"[\u0590-\u05ff\u0620-\u064a\u066e-\u06d3\u0e00-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u1780-\u17df"
    r"\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
_SCRIPT_ENDS = re.compile(f"(?<=[A-Za-z0-9])[-/.:_]?(?={_JOINING})|(?<={_JOINING})[-/.:_]?(?=[A-Za-z0-9])")
_URL = re.compile(r"https?://(?:www\.)?([^\s/]{1,253})/?", re.IGNORECASE)
#: What kind of code follows: doi:10.1000/182; not the groups of a MAC or an IPv6 address.
_LABEL = re.compile(r"(?<![\w./-])(?![A-Fa-f]{1,4}:)([^\W\d_]{3,12}):(?=[^\W_])")
#: Endings that Finnish and Swedish put to a code.
_ENDING = re.compile(
    r"(?<=[A-Z0-9])(?<!:\w\w):(?:[nstaä]|en|in|t[aä]|lle|ll[aä]|ss[aä]|st[aä]|lt[aä]|ksi|hen)(?![\w:])"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DIGIT_OR_AT = re.compile(r"[\d@]")
_TOKEN = re.compile(r"(?<![\w./:-])[^\W_](?:[^\W_]|[-./:_](?=[^\W_]))*")
_DATE_OR_TIME = re.compile(
    r"(?<![\w./:-])(?:\d{4}[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?"
    r"(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?)(?![\w]|[-/:]\w)",
    re.IGNORECASE,
)
_GROUPED_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![\w.,-])\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\w)"
    r"|(?<![\w.,-])\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?(?![\w-]| \d)"
)
#: Groups of digits (or of an IBAN's letters and digits) with blanks, hyphens or brackets between them.
_SPACED = re.compile(
    r"(?<![\w./:-])\+?(?:[A-Z]{2}\d{2}(?: [A-Z0-9]{1,4}){2,}"
    r"|\(?\d{1,20}(?:[ )(/-]{1,2}\d{1,20}){1,12}(?:-?[Xx])?)(?!\w)"
)
_BLANKED = re.compile(r"(?<![\w./:-])(?=[A-Z]*\d)[A-Z0-9]{1,6}(?: (?=[A-Z]*\d)[A-Z0-9]{1,6}){1,7}(?![\w]|[.,:]\d)")
_NAMED_NUMBER = re.compile(r"(?<![\w./:-])([^\W\d_]{2,12})[ \u00a0](?:[Nn]o\.? |#)?(\d{3,})(?![\w]|[.,:]\d)")
_NUMBER = re.compile(r"(?<![\w.,:/-])#?(\d{4,})(?![\w]|[.,:/-]\w)")
_VERSION = re.compile(r"v?(\d+(?:\.\d+){2,})")
_SHORT_DATE = re.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d{2}")
_SPAN = re.compile(r"(\d{1,4})([-/:.])(\d{1,4})")
_WORD_WITH_NUMBER = re.compile(r"[A-Za-z]?[a-z]{2,}[-_]?\d{1,4}s?(?:\.\d+)*")
_MEASURE = re.compile(r"\d+(?:[.,]\d+)?-?[^\W\d_]+(?:/[^\W\d_]+\d?)?")
_DIMENSIONS = re.compile(r"(?!0x)[A-Za-z]?\d{1,5}(?:[x\u00d7]\d{1,5})+[a-z]{0,4}")
_WEEK = re.compile(r"(?:19|20)\d\d-?W\d\d")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_REVISION = re.compile(r"(?<=\d)v\d{1,2}$")
_OLD_ISBN = re.compile(r"\d{9}[Xx]")
_SERIES = re.compile(r"[A-Z]{1,4}\d{3,}[A-Z]?")
#: Two or three digits after capitals: DR-17.
_SHORT_CODE = re.compile(r"(?<![\w./:-])([A-Z]{2,5})-?(\d{2,3})(?![\w]|[-.,:/]\w)")
_MIN_EXTENSION = 4  #: digits of a number after its noun: Durchwahl 4711
_WORDS_BEFORE, _WORDS_AFTER = 3, 2  #: of a word with a digit
_SIGNS = re.compile(r"[-/_:]")
_MAX_PARTS = 8
_MAX_TEXT = 200_000  #: characters of a record that are looked through
_MIN_SHOUTED = 4  #: words
_MIN_DIGITS = 6  #: of a number that is taken for a code


@dataclass(frozen=True)
class Family:
    """A possible code that is written as others are: it binds in a table that holds others, and not it."""

    key: str
    number: str
    name: str  #: key of all records that hold one of the family


@dataclass(frozen=True)
class AskedCodes:
    """Keys of the codes in a question."""

    binding: frozenset[str]  #: surely codes: what does not hold them does not answer
    possible: frozenset[str]  #: codes if a few records hold them, else ordinary words and numbers
    #: bind in a table whose records are numbered alike, or do not hold the number
    named: frozenset[NamedNumber] = frozenset()
    families: frozenset[Family] = frozenset()

    def __or__(self, other: AskedCodes) -> AskedCodes:
        binding = self.binding | other.binding
        possible, families = (self.possible | other.possible) - binding, self.families | other.families
        return AskedCodes(binding, possible, self.named | other.named, families)

    @property
    def every(self) -> frozenset[str]:
        return self.binding | self.possible

    def __bool__(self) -> bool:
        return bool(self.every or self.named)


NO_CODES = AskedCodes(frozenset(), frozenset())


def asked_codes(text: str) -> AskedCodes:
    """Return the codes of a question."""
    binding: set[str] = set()
    possible: set[str] = set()
    rest = _without_emails(_readable(text), binding)
    rest = identifiers(rest, binding, shouted=_is_shouted(rest))
    named = named_numbers(rest)
    possible.update(_blanked(rest))
    rest = _without_numbers(rest)
    for match in _SPACED.finditer(rest):
        key = _group(match[0])
        if _is_long_group(match[0]):
            binding.add(key)
    rest = _SPACED.sub(lambda match: " " if _is_long_group(match[0]) else match[0], rest)
    shouted = _is_shouted(rest)
    for match in _NAMED_NUMBER.finditer(rest):
        if _is_long_number(match[2]):
            continue  # it is a code by itself
        if _names(match[1], match[2]) and not is_measured(rest, match.end()):
            sure = match[1].isupper() and len(match[1]) <= 6 and match[1] not in CAPITAL_UNITS and not shouted
            (binding if sure else possible).add(f"{match[1]}{match[2]}".lower())
    for match in _NUMBER.finditer(rest):
        if not is_measured(rest, match.end()) and not YEAR.fullmatch(match[1]):
            amount = BEFORE_AMOUNT.search(rest, max(0, match.start() - 20), match.start())
            (binding if _is_long_number(match[1]) and not amount else possible).add(match[1])
    for match in _TOKEN.finditer(rest):
        token = match[0]
        if re.search(r"\d", token) and not token.isdigit() and not _is_decimal(token):
            (binding if _is_sure(token) else possible if _may_be_code(token) else set()).add(_key(token))
    return AskedCodes(
        frozenset(binding),
        frozenset(possible - binding),
        frozenset(each for each in named if not (each.number.isdigit() and _is_long_number(each.number))),
        frozenset(each for each in _families(rest) if each.key in possible - binding and not shouted),
    )


def _families(text: str) -> Iterator[Family]:
    """Yield the codes of a text that others may be written like: by their letters, or by the noun before them."""
    for match in _SHORT_CODE.finditer(text):
        if match[1] not in CAPITAL_UNITS and not is_measured(text, match.end()):
            yield Family(f"{match[1]}{match[2]}".lower(), "", f"{match[1].lower()}~")
    for match in _NAMED_NUMBER.finditer(text):
        word, number = match[1].lower(), match[2]
        is_code = len(number) >= _MIN_EXTENSION and int(number) % 100 and word not in RANKING
        if is_code and _names(word, number) and not is_measured(text, match.end()):
            yield Family(f"{word}{number}", number, f"{word}~{len(number)}")


def held_codes(text: str) -> frozenset[str]:
    """Return the keys of all codes that a record's text holds, with those of their parts."""
    keys: set[str] = set()
    rest = _without_emails(_near_digits(_readable(text[:_MAX_TEXT])), keys)
    keys.update(numbered_keys(rest))
    keys.update(identifier_keys(rest))
    keys.update(_blanked(rest))
    rest = _without_numbers(rest)
    for match in _SPACED.finditer(rest):
        if _is_long_group(match[0]):
            keys.add(_group(match[0]))
    for match in _NAMED_NUMBER.finditer(rest):
        if _names(match[1], match[2]):
            keys.add(f"{match[1]}{match[2]}".lower())
    keys.update(each.name for each in _families(rest))
    keys.update(match[1] for match in _NUMBER.finditer(rest) if not YEAR.fullmatch(match[1]))
    for match in _TOKEN.finditer(rest):
        if re.search(r"\d", match[0]) and not match[0].isdigit():
            keys.update(_runs(match[0]))
    return frozenset(keys)


def _readable(text: str) -> str:
    """Return the text with a blank where a code meets a label, an address or a word of another script."""
    return _ENDING.sub(" ", _LABEL.sub(r"\1 ", _URL.sub(r" \1 ", scripts_apart(text))))


def scripts_apart(text: str) -> str:
    """Return the text with one form of each sign, and a blank where digits meet a script without blanks."""
    return text if text.isascii() else _SCRIPT_ENDS.sub(" ", text.translate(_SIGN_FORMS))


def _near_digits(text: str) -> str:
    """Return the words with a digit or an @, each with a few words before and after: all that a code can be in."""
    words = text.split()
    kept: list[str] = []
    following = 0
    for number, word in enumerate(words):
        if _DIGIT_OR_AT.search(word):
            start = max(following, number - _WORDS_BEFORE)
            if start > following:
                kept.append("\n")
            following = max(following, number + 1 + _WORDS_AFTER)
            kept.extend(words[start:following])
    return " ".join(kept)


def _without_emails(text: str, keys: set[str]) -> str:
    keys.update(match.lower() for match in _EMAIL.findall(text))
    return _EMAIL.sub(" ", text)


def _without_numbers(text: str) -> str:
    return _GROUPED_NUMBER.sub(" ", _DATE_OR_TIME.sub(" ", text))


def _is_long_group(text: str) -> bool:
    """Return whether groups of digits are one number, such as an ISBN, an IBAN or that of a phone."""
    return sum(map(str.isdigit, text)) >= 9


def _group(text: str) -> str:
    """Return the key of groups of digits; (0) in a number with a country is not dialled."""
    return _plain(text.replace("(0)", "") if text.startswith("+") else text)


def _blanked(text: str) -> Iterator[str]:
    """Keys of codes that are written with blanks, such as 311 992 D3."""
    for match in _BLANKED.finditer(text):
        key = _plain(match[0])
        if len(key) >= _MIN_DIGITS and not key.isdigit():
            yield key


def _is_long_number(digits: str) -> bool:
    if digits.startswith("0"):
        return len(digits) >= 5
    return len(digits) >= _MIN_DIGITS and int(digits) % 1000 != 0


def _is_decimal(token: str) -> bool:
    """Return whether a token is a number with decimals, and not one such as 1706.03762 that may be an identifier."""
    return _DECIMAL.fullmatch(token) is not None and len(token) < 9


def _is_shouted(text: str) -> bool:
    """Return whether a sentence is written in capitals, so that they do not say what is a name."""
    words = re.findall(r"[^\W\d_]{2,}", text)
    return sum(map(str.isupper, words)) >= _MIN_SHOUTED and not any(map(str.islower, words))


def _names(word: str, number: str) -> bool:
    return word.lower() not in UNNAMING and not YEAR.fullmatch(number)


def _is_sure(token: str) -> bool:
    """Return whether a word with a digit can only be a code."""
    if _VERSION.fullmatch(token):
        return not _SHORT_DATE.fullmatch(token)
    if _DECIMAL.fullmatch(token) or _DIMENSIONS.fullmatch(token) or _WEEK.fullmatch(token):
        return False
    plain = _plain(token)
    letters, digits = any(map(str.isalpha, plain)), sum(map(str.isdigit, plain))
    if not letters:
        return digits >= _MIN_DIGITS and not _is_span(token)
    if _WORD_WITH_NUMBER.fullmatch(token) or (_MEASURE.fullmatch(token) and not _OLD_ISBN.fullmatch(token)):
        return False
    return _SERIES.fullmatch(token) is not None or (digits >= 3 and len(plain) >= 5)


def _is_span(token: str) -> bool:
    """Return whether two numbers are a span, a ratio or a time, and not the parts of a number such as 2025-001."""
    match = _SPAN.fullmatch(token)
    if match is None:
        return False
    first, sign, second = match.groups()
    if second.startswith("0") and len(second) > 2:
        return False
    return int(first) < int(second) or (len(first), len(second)) == (4, 2) or (sign != "-" and len(token) < 8)


def _may_be_code(token: str) -> bool:
    plain = _plain(token)
    return len(plain) >= 3 and sum(map(str.isdigit, plain)) >= 2 and not _is_span(token)


def _key(token: str) -> str:
    return "".join(_parts(token))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _parts(token: str) -> list[str]:
    """Return the parts between the signs of a code; a version stays whole."""
    parts: list[str] = []
    for part in _SIGNS.split(token.lower()):
        version = _VERSION.fullmatch(part)
        parts += [version[1]] if version else part.split(".")
    return [part for part in parts if part]


def _runs(token: str) -> Iterator[str]:
    """Keys of a code: all of it, and consecutive parts that a question may name alone."""
    parts = _parts(token)[:_MAX_PARTS]
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            key = "".join(parts[start:end])
            if len(key) >= 3 and re.search(r"\d", key) and not YEAR.fullmatch(key):
                yield key
                if (revision := _REVISION.search(key)) and revision.start() >= _MIN_DIGITS:
                    yield key[: revision.start()]
