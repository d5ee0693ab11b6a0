"""Similarity of a text to a word that it does not hold exactly: misspelt, compounded, or in another form."""

from __future__ import annotations

from collections.abc import Iterable

#: Of a word's n-grams, the least that must be in a text for it to hold a part of the word.
_LEAST_PART = 0.4
#: What a word counts for that differs from a word of the text by a misspelling.
_MISSPELT = 0.8
_SHORT, _LONG = 4, 8  # characters: one edit from the first, two from the second


def part_held(ngrams: frozenset[int], held: frozenset[int]) -> float:
    """Return the share of the word's n-grams that a text holds, 0..1; 0 for a few of them, which say nothing."""
    share = len(ngrams & held) / len(ngrams) if ngrams else 0.0
    return share if share >= _LEAST_PART else 0.0


def misspelling_held(word: str, words: Iterable[str]) -> float:
    """Return what the word counts for if one of the words is spelled nearly the same; else 0."""
    allowed = 2 if len(word) >= _LONG else 1
    for other in words:
        if other[0] != word[0] or abs(len(other) - len(word)) > allowed:
            continue
        if len(word) < _SHORT and len(other) <= len(word):
            continue  # for words this short only a missing letter is evidence
        if len(word) >= 3 and edits(word, other, allowed) <= allowed:
            return _MISSPELT
    return 0.0


def edits(one: str, other: str, most: int) -> int:
    """Return how many letters to insert, delete, replace or swap with the next; more than ``most`` is ``most + 1``."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above, row = row, before, [i]
        for j, another in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
