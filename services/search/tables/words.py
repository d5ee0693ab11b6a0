"""Text as sparse vectors of words and of n-grams of words, weighted by BM25; the same for every store.

Tokens, stop words and stems are those of Qdrant's engine; the store multiplies with the inverse document frequency.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import combining, normalize
from zlib import crc32

from qdrant_edge import Bm25, Bm25Config, DisabledStemmer, Language, StopwordsSet, TokenizerType

from services.search.store.port import LONGEST, Sparse, SparseName

#: BM25's k1 and b. Of 1.2 and 1.5, and of 0.4 to 0.75, these are best on the tables of ``benchmarks/golden``.
_SATURATION, _LENGTH = 1.5, 0.75
_NGRAM, _UNSPACED_NGRAM = (
    4,
    2,
)  # characters; 4 is best for European languages (McNamee and Mayfield, 2004)
_NGRAMS_PER_WORD = 7.0  # of a word and the stop words around it; half or twice that changes little
_LONGEST_WORD = 64
_WORD = re.compile(r"\w[\w+#]*")
_SIGNS = re.compile(r"[-./_:]")
_CODE = re.compile(r"(?<![\w./:-])(?:[^\W\d]|[-./:])*\d(?:\w|[-./:](?=\w))*")
_UNSEEN_AVERAGE = 12.0  # of facets, which a table's first records may lack
DEFAULT_LANGUAGE = "english"
#: Languages with stop words and a stemmer.
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
_LEAST_STOP_WORDS = 4  # distinct ones of a language, before a text is taken to be in it
#: Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}+")


#: Emoji and other pictures, each of which is a word.
_PICTURES = re.compile("[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]")


class Words:
    """Weights the words of documents of one language whose average length is known."""

    def __init__(self, average: float, language: str = DEFAULT_LANGUAGE) -> None:
        self._average = max(average, 1.0)
        self._language = language if language in _LANGUAGES else DEFAULT_LANGUAGE

    def document(self, text: str) -> Sparse:
        return _weighed(_counted(text, self._language), self._average)

    def query(self, text: str) -> Sparse:
        """Every word as often as the question says it."""
        counted = _counted(text, self._language)
        return Sparse(tuple(counted), tuple(map(float, counted.values())))

    def length(self, text: str) -> int:
        """How many words the text has, stop words left out."""
        return sum(_counted(text, self._language).values())

    def document_ngrams(self, text: str, codes: Iterable[str] = ()) -> Sparse:
        """N-grams of the words by BM25: misspelt words, compounds and codes still share most of them.

        With the keys of the ``codes`` that a record holds, which ``code`` finds.
        """
        weighed = _weighed(Counter(_ngrams(text)), self._average * _NGRAMS_PER_WORD, SparseName.NGRAMS)
        known = set(weighed.indices)
        keys = [index for index in dict.fromkeys(map(_code_index, codes)) if index not in known]
        return Sparse((*weighed.indices, *keys), (*weighed.values, *[1.0] * len(keys)), SparseName.NGRAMS)

    def code(self, key: str) -> Sparse:
        """What records that hold the code have in common."""
        return Sparse((_code_index(key),), (1.0,), SparseName.NGRAMS)

    def query_ngrams(self, text: str) -> Sparse:
        counted = Counter(_ngrams(text))
        return Sparse(tuple(counted), tuple(map(float, counted.values())), SparseName.NGRAMS)

    def distinct(self, text: str) -> frozenset[int]:
        """The words that are not stop words, as hashes of their stems."""
        return frozenset(_counted(text, self._language))

    def literally(self, asked: str, text: str) -> bool:
        """Whether the text holds every asked word but stop words; punctuation inside codes is ignored."""
        every, held = self.distinct(asked), self.distinct(text)
        if not every or every <= held:
            return bool(every)
        return has_code(asked) and self.distinct(_joined(asked)) <= held | self.distinct(_joined(text))


def _weighed(counted: Mapping[int, int], average: float, name: SparseName = SparseName.WORDS) -> Sparse:
    """BM25's weights of a document, beside the inverse document frequency."""
    even = _SATURATION * (1 - _LENGTH + _LENGTH * sum(counted.values()) / average)
    values = tuple(many * (_SATURATION + 1) / (many + even) for many in counted.values())
    return Sparse(tuple(counted), values, name)


def _counted(text: str, language: str) -> dict[int, int]:
    """How often each word occurs, by the hash of its stem; stop words left out.

    Where a script has no spaces, every two signs that stand together count as a word: what a dictionary makes of
    them depends on the words around, so that a question of one word would miss the sentence that holds it.
    """
    text = text[:LONGEST]
    runs = _UNSPACED_RUN.findall(text) if _UNSPACED.search(text) else ()
    spaced = _UNSPACED_RUN.sub(" ", text) if runs else text
    vector = _model(language).embed_document(spaced)
    counted = Counter({word: round(many) for word, many in zip(vector.indices, vector.values, strict=True)})
    counted.update(crc32(pair.encode()) for run in runs for pair in _pairs(run))
    counted.update(crc32(sign.encode()) for sign in _PICTURES.findall(text))
    return dict(counted)


def _pairs(run: str) -> list[str]:
    signs = normalize("NFKC", run)
    return [signs[start : start + 2] for start in range(len(signs) - 1)] or [signs]


def _ngrams(text: str) -> list[int]:
    return [ngram for word in _WORD.findall(text[:LONGEST].lower()) for ngram in _ngrams_of(word)]


@lru_cache(maxsize=20_000)
def _ngrams_of(word: str) -> tuple[int, ...]:
    """Hashes of the word's n-grams, of four characters or of two in a script without spaces; its ends are marked."""
    plain = "".join(sign for sign in normalize("NFKD", word[:_LONGEST_WORD]) if not combining(sign))
    marked, size = f"_{plain}_", _UNSPACED_NGRAM if _unspaced(word) else _NGRAM
    return tuple(crc32(marked[start : start + size].encode()) for start in range(max(len(marked) - size, 0) + 1))


def _code_index(key: str) -> int:
    return crc32(f"code {key}".encode())


def has_code(text: str) -> bool:
    """Whether the text has a word with a digit: a number, an identifier, a version. A code cannot be reworded."""
    return bool(_CODE.search(text))


def _joined(text: str) -> str:
    return _CODE.sub(lambda code: _SIGNS.sub("", code[0]), text[:LONGEST])


def average_words(texts: Sequence[str], language: str) -> float:
    """The mean number of words per text without stop words, at least 1; a guess where there is no text yet."""
    if not texts:
        return _UNSEEN_AVERAGE
    counted = sum(Words(1.0, language).length(text) for text in texts)
    return max(counted / len(texts), 1.0)


def language_of(texts: Sequence[str]) -> str:
    """The language with most stop words in the texts; English when there are too few."""
    sample = "\n".join(text[:500] for text in texts)[:LONGEST]
    every = len(_stopped(None).embed_query(sample).indices)
    stops = {name: every - len(_stopped(name).embed_query(sample).indices) for name in _LANGUAGES}
    likely = max(stops, key=stops.__getitem__)
    return likely if stops[likely] >= _LEAST_STOP_WORDS else DEFAULT_LANGUAGE


def _unspaced(text: str) -> bool:
    return bool(_UNSPACED.search(text, 0, LONGEST))


@lru_cache(maxsize=32)
def _model(language: str) -> Bm25:
    # Without saturation and length normalization, the weight of a word is how often it occurs.
    folded, words = True, TokenizerType.Word
    return Bm25(Bm25Config(k=1e6, b=0.0, avg_len=1.0, language=language, ascii_folding=folded, tokenizer=words))


@lru_cache(maxsize=32)
def _stopped(language: str | None) -> Bm25:
    """A model that removes the stop words of the language and stems nothing."""
    stops = _LANGUAGES[language] if language else StopwordsSet()
    return Bm25(Bm25Config(avg_len=1.0, stopwords=stops, stemmer=DisabledStemmer()))
