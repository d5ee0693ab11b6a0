"""Text as weighted words, and as pieces of words: BM25's side of the search, the same for every store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from unicodedata import combining, normalize
from zlib import crc32

from qdrant_edge import Bm25, Bm25Config, DisabledStemmer, Language, StopwordsSet, TokenizerType

from services.search.store.port import Sparse

_SATURATION, _LENGTH = 1.5, 0.75  # measured best on abstracts
_MOST_CHARACTERS = 20_000
_PIECE, _UNSPACED_PIECE = 4, 2  # signs; four is the published best for European languages (McNamee and Mayfield, 2004)
_PIECES_OF_A_WORD = 7.0  # that counts, with those of the stop words around it; half or twice that changes little
_LONGEST_WORD = 64
_WORD = re.compile(r"\w[\w+#]*")
_SIGNS = re.compile(r"[-./_:]")
_CODE = re.compile(r"(?<![\w./:-])(?:[^\W\d]|[-./:])*\d(?:\w|[-./:](?=\w))*")
_UNSEEN_AVERAGE = 12.0  # of facets, which a table's first records may lack
DEFAULT_LANGUAGE = "english"
#: Languages whose stop words and stems are known.
_LANGUAGES = {
    "english": Language.English,
    "arabic": Language.Arabic,
    "danish": Language.Danish,
    "dutch": Language.Dutch,
    "finnish": Language.Finnish,
    "french": Language.French,
    "german": Language.German,
    "greek": Language.Greek,
    "hungarian": Language.Hungarian,
    "italian": Language.Italian,
    "norwegian": Language.Norwegian,
    "portuguese": Language.Portuguese,
    "romanian": Language.Romanian,
    "russian": Language.Russian,
    "spanish": Language.Spanish,
    "swedish": Language.Swedish,
    "turkish": Language.Turkish,
}
_LEAST_STOPS = 4  # different stop words that a text must have before it is taken for another language's
#: Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


class Words:
    """Weighs the words of documents of one language whose average length is known."""

    def __init__(self, average: float, language: str = DEFAULT_LANGUAGE) -> None:
        self._average = max(average, 1.0)
        self._language = language if language in _LANGUAGES else DEFAULT_LANGUAGE

    def document(self, text: str) -> Sparse:
        found = self._model(text).embed_document(text[:_MOST_CHARACTERS])
        return Sparse(tuple(found.indices), tuple(found.values))

    def query(self, text: str) -> Sparse:
        found = self._model(text).embed_query(text[:_MOST_CHARACTERS])
        return Sparse(tuple(found.indices), tuple(found.values))

    def document_pieces(self, text: str) -> Sparse:
        """Pieces of the words by BM25: what is misspelt, compounded or a code shares most of them all the same."""
        pieces = _pieces(text)
        even = _SATURATION * (1 - _LENGTH + _LENGTH * len(pieces) / (self._average * _PIECES_OF_A_WORD))
        counted = Counter(pieces)
        values = tuple(many * (_SATURATION + 1) / (many + even) for many in counted.values())
        return Sparse(tuple(counted), values, "pieces")

    def query_pieces(self, text: str) -> Sparse:
        counted = Counter(_pieces(text))
        return Sparse(tuple(counted), tuple(map(float, counted.values())), "pieces")

    def distinct(self, text: str) -> frozenset[int]:
        """The words that count (stop words do not), as hashes of their stems."""
        return frozenset(self.query(text).indices)

    def literally(self, asked: str, said: str) -> bool:
        """Whether every word that counts of the one is in the other; in a code, signs between its parts are nothing."""
        every, held = self.distinct(asked), self.distinct(said)
        if not every or every <= held:
            return bool(every)
        return has_code(asked) and self.distinct(_joined(asked)) <= held | self.distinct(_joined(said))

    def _model(self, text: str) -> Bm25:
        return _model(self._average, self._language, _unspaced(text))


def _pieces(text: str) -> list[int]:
    return [piece for word in _WORD.findall(text[:_MOST_CHARACTERS].lower()) for piece in _pieces_of(word)]


@lru_cache(maxsize=20_000)
def _pieces_of(word: str) -> tuple[int, ...]:
    """Hashes of the word's pieces of four signs (of two in a script without spaces), its ends marked."""
    plain = "".join(sign for sign in normalize("NFKD", word[:_LONGEST_WORD]) if not combining(sign))
    marked, size = f"_{plain}_", _UNSPACED_PIECE if _unspaced(word) else _PIECE
    return tuple(crc32(marked[start : start + size].encode()) for start in range(max(len(marked) - size, 0) + 1))


def has_code(text: str) -> bool:
    """Whether a word with a digit is in it: a number, an identifier, a version. No other wording says the same."""
    return bool(_CODE.search(text))


def _joined(text: str) -> str:
    return _CODE.sub(lambda code: _SIGNS.sub("", code[0]), text[:_MOST_CHARACTERS])


def average_words(texts: Sequence[str], language: str) -> float:
    """How many words that count a text has on average; at least one. Where there is no text yet, a guess."""
    if not texts:
        return _UNSEEN_AVERAGE
    counted = sum(_length(text[:_MOST_CHARACTERS], language) for text in texts)
    return max(round(counted / len(texts), 1), 1.0)


def language_of(texts: Sequence[str]) -> str:
    """The language that most of the texts' words are stop words of; English when nothing says otherwise."""
    sample = "\n".join(text[:500] for text in texts)[:_MOST_CHARACTERS]
    every = len(_stopped(None).embed_query(sample).indices)
    stops = {name: every - len(_stopped(name).embed_query(sample).indices) for name in _LANGUAGES}
    likely = max(stops, key=stops.__getitem__)
    return likely if stops[likely] >= _LEAST_STOPS else DEFAULT_LANGUAGE


def _length(text: str, language: str) -> float:
    # Hardly saturated and blind to lengths, the weight of a word is how often it occurs.
    return sum(_model(1.0, language, _unspaced(text), 1e6, 0.0).embed_document(text).values)


def _unspaced(text: str) -> bool:
    return bool(_UNSPACED.search(text, 0, _MOST_CHARACTERS))


@lru_cache(maxsize=256)
def _model(average: float, language: str, unspaced: bool, k: float = _SATURATION, b: float = _LENGTH) -> Bm25:
    # Both tokenizers give the same words of a spaced script; the one that finds words in unspaced ones is slower.
    tokenizer = TokenizerType.Multilingual if unspaced else TokenizerType.Word
    return Bm25(Bm25Config(k=k, b=b, avg_len=average, language=language, ascii_folding=True, tokenizer=tokenizer))


@lru_cache(maxsize=32)
def _stopped(language: str | None) -> Bm25:
    """Leaves out the stop words of the language only, and stems nothing."""
    stops = _LANGUAGES[language] if language else StopwordsSet()
    return Bm25(Bm25Config(avg_len=1.0, stopwords=stops, stemmer=DisabledStemmer()))
