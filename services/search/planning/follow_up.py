"""A question that refers to an earlier one, without a model: it is searched with the words of what it refers to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.search.tables.words import Words
from shared.llm.chat import ChatMessage

_MAX_SUBJECT = 500  #: characters of an earlier question
_MAX_BACK = 6  #: questions
_MAX_BEFORE, _MAX_BEFORE_IT = 1, 2  #: words
_LANGUAGES = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "russian")
#: Words that refer to something said before, in the languages whose stop words are known.
_POINTERS = re.compile(
    r"\b(?:its|they|them|their|theirs|he|she|his|him|hers|the (?:other|same|former|latter|last) ones?|which ones?|"
    r"the others?|another one|the (?:cheaper|smaller|bigger|larger|newer|older|better|faster) ones?|"
    r"seine[mnrs]?|(?-i:ihre[mnrs]?)|dessen|deren|davon|dafür|damit|daran|darin|dazu|darüber|diese[mnrs]?|jene[mnrs]?|"
    r"celui|celle|ceux|celles|cela|ça|leurs?|ses|"
    r"esos?|esas?|suyo|sus|aquell?[oa]?s?|ell[oa]s|"
    r"suo|suoi|quest[oa]|quell[oa]|dele|dela|deles|"
    r"его|её|ее|их|ему|ей|им|он|она|они|этот|эта|этого|этой|тот|та|те)\b"
    r"|それ|その|あれ|これら|它|他们|那个|这个|其",
    re.IGNORECASE,
)
_IT = re.compile(r"\bit\b", re.IGNORECASE)
#: "it" that refers to nothing.
_EXPLETIVE = re.compile(
    r"\b(?:is|was|isn't|would|will|can|could|may|might) it (?:be )?(?:possible|necessary|allowed|okay|ok|safe|legal|"
    r"true|worth|normal|raining|time|better|important|free|required|mandatory|late|hard|easy|best|bad|good)\b|"
    r"\bit (?:is|was|takes?|rains?|seems|costs?|possible)\b|"
    r"\b(?:does|did|will|would) it (?:take|cost|rain|matter|mean)\b|"
    r"\b(?:time|day|date) is it\b|\bmake it\b|\bhow is it\b",
    re.IGNORECASE,
)
_DEMONSTRATIVE = re.compile(
    r"\b(?:about|of|for|with|in|on|from|to|is|are|was|were|does|do|did|why|how|and|like|than) "
    r"(?:that|this|those|these)\b|^(?:that|this|those|these)\b",
    re.IGNORECASE,
)
_START = re.compile(
    r"^\W*(?:and|but|also|then|what about|how about|or|und|aber|oder|auch|was ist mit|wie ist es mit|et|mais|ou|y|"
    r"pero|e|ma|и|а|но)(?=\s)|^\W*(?:じゃあ|では|那么|那)|呢\W*$",
    re.IGNORECASE,
)
_ORDINALS = (
    r"first|1st|erste[mnrs]?|premi[eè]re?|primer[oa]?|prim[oa]|перв\w+|第一|一つ目",
    r"second|2nd|zweite[mnrs]?|deuxième|seconde?|segund[oa]|second[oa]|втор\w+|第二|二つ目",
    r"third|3rd|dritte[mnrs]?|troisième|tercer[oa]?|terz[oa]|трет\w+|第三|三つ目",
    r"fourth|4th|vierte[mnrs]?|quatrième|cuart[oa]|quart[oa]|четв[её]рт\w+|第四|四つ目",
    r"fifth|5th|fünfte[mnrs]?|cinquième|quint[oa]|пят\w+|第五|五つ目",
)
_ORDINAL = [re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE) for words in _ORDINALS]
_LAST = re.compile(r"\b(?:the last|letzte[mnrs]?|dernière?|últim[oa]|ultim[oa])\b", re.IGNORECASE)
#: What may follow the number of a record: "the second one", "the second phone?".
_NUMBERED = r"(?:\s+ones?\b|(?:\s+\w+)?\s*(?:[?.!,;:？。]|$))"
#: "Name [id]", as an answer without a model lists its records.
_LISTED = re.compile(r"(?:^|: |; )([^\[\];:\n]{1,200}?) \[[^\]\n]+\]", re.MULTILINE)
#: A numbered or marked line of a list, as a model's answer has it: what it says first.
_LISTED_LINE = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*\u2022])\s+(?:\*\*)?([^\n:;(*\u2013\u2014]{1,200})", re.MULTILINE)
_EMPTY_WORDS = re.compile(
    r"\b(?:one|ones|more|else|why|tell|show|continue|go|please|explain|details?|mehr|warum|bitte|pourquoi|plus|más)\b",
    re.IGNORECASE,
)


def resolved(question: str, history: Sequence[ChatMessage]) -> tuple[str, str] | None:
    """Return the question with the words of what it refers to, and the earlier question; None for a question that is
    complete.
    """
    if not refers(question):
        return None
    earlier = [message.content.strip() for message in history if message.role == "user" and message.content.strip()]
    recent = earlier[-_MAX_BACK:]
    subject = next((each for each in reversed(recent) if not refers(each)), recent[0] if recent else None)
    if subject is None:
        return None
    record = _record(question, history)
    return " ".join(filter(None, [subject[:_MAX_SUBJECT], record, question])), subject[:_MAX_SUBJECT]


def refers(question: str) -> bool:
    """Return whether the question refers to something that was said before."""
    text = question.strip()
    if _DEMONSTRATIVE.search(text) or _START.search(text):
        return True
    pointer, pronoun = _POINTERS.search(text), None if _EXPLETIVE.search(text) else _IT.search(text)
    if pointer and _words(text[: pointer.start()]) <= _MAX_BEFORE:  # after more words it refers to one of those
        return True
    if pronoun and _words(text[: pronoun.start()]) <= _MAX_BEFORE_IT:
        return True
    bare = _EMPTY_WORDS.sub(" ", text)
    for ordinal in (*_ORDINAL, _LAST):
        bare = ordinal.sub(" ", bare)
    return bool(re.search(r"\w", text)) and not _words(bare)


def _words(text: str) -> int:
    """Return how many words the text has, without the stop words of the language that leaves the fewest."""
    return min(Words(1.0, language).length(text) for language in _LANGUAGES)


def _record(question: str, history: Sequence[ChatMessage]) -> str | None:
    """Return the name of the record that the question points to in the latest answer: by its number, or the only
    one.
    """
    answer = next((message.content for message in reversed(history) if message.role == "assistant"), "")
    listed: list[str] = [name.strip() for name in _LISTED.findall(answer) or _LISTED_LINE.findall(answer)]
    if not listed:
        return None
    for number, ordinal in enumerate(_ORDINAL):
        if re.search(ordinal.pattern + _NUMBERED, question, re.IGNORECASE):
            return listed[number] if number < len(listed) else None
    if re.search(_LAST.pattern + _NUMBERED, question, re.IGNORECASE):
        return listed[-1]
    return listed[0] if len(listed) == 1 else None
