"""The plain words of table tasks in German, French and Spanish, and what they are in English."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ENGLISH = frozenset("by per of the each where how with for and which what show give total".split())
#: English word: the words of the language, with which the rules go on.
_TABLES: Mapping[str, Mapping[str, str]] = {
    "German": {
        "total": "summe gesamtsumme insgesamt", "average": "durchschnitt mittelwert durchschnittlich durchschnittliche "
        "durchschnittlicher", "number": "anzahl", "how": "wie", "many": "viele", "by": "nach pro je",
        "each": "jede jeden jedes jeder", "of": "von vom der des", "the": "die das den dem ein eine einen",
        "and": "und", "where": "wo wobei deren", "only": "nur", "show": "zeige zeig", "sorted": "sortiert geordnet",
        "sort": "sortiere ordne", "descending": "absteigend", "ascending": "aufsteigend",
        "highest": "höchste höchster höchstes größte größter", "lowest": "niedrigste niedrigster kleinste kleinster",
        "first": "zuerst erste ersten", "minimum": "minimum", "maximum": "maximum", "month": "monat", "year": "jahr",
        "over": "über", "under": "unter", "more": "mehr", "less": "weniger", "than": "als", "in": "in im aus",
        "is": "ist gleich", "or": "oder", "not": "nicht", "rows": "zeilen", "with": "mit", "without": "ohne",
    },
    "French": {
        "total": "somme total totaux", "average": "moyenne moyen", "number": "nombre", "by": "par", "each": "chaque",
        "of": "de des du d", "the": "le la les l", "and": "et", "where": "où dont", "only": "seulement uniquement",
        "show": "affiche montre", "sorted": "trié triés triée triées", "sort": "trie trier",
        "descending": "décroissant", "ascending": "croissant", "for": "pour",
        "minimum": "minimum", "maximum": "maximum", "month": "mois",
        "year": "année an", "is": "est", "or": "ou", "rows": "lignes", "without": "sans", "in": "en",
    },
    "Spanish": {
        "total": "suma total", "average": "promedio media", "number": "número cantidad", "by": "por", "each": "cada",
        "of": "de del", "the": "el la los las", "and": "y", "where": "donde", "only": "solo sólo",
        "show": "muestra muestre", "sorted": "ordenado ordenados ordenada ordenadas", "sort": "ordena ordenar",
        "descending": "descendente", "ascending": "ascendente", "for": "para", "minimum": "mínimo", "maximum": "máximo",
        "month": "mes", "year": "año", "is": "es", "or": "o", "rows": "filas", "without": "sin", "in": "en",
    },
}  # fmt: skip
_GLUE = frozenset("by of each where and the".split())
_MEANINGS: Mapping[str, Mapping[str, str]] = {
    language: {word: english for english, words in table.items() for word in words.split()}
    for language, table in _TABLES.items()
}
_WORD = re.compile(r"[^\W\d_]+")


def english(task: str) -> Mapping[str, str]:
    """Return the meanings of the task's words when it is German, French or Spanish; none when it may be English."""
    words = [word.casefold() for word in _WORD.findall(task)]
    if _ENGLISH & set(words) - {"total"}:
        return {}
    hits = {language: sum(meanings.get(word) in _GLUE for word in words) for language, meanings in _MEANINGS.items()}
    best = max(hits, key=lambda language: (hits[language], sum(word in _MEANINGS[language] for word in words)))
    return _MEANINGS[best] if hits[best] else {}
