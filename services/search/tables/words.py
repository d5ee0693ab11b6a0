"""Text as sparse vectors of words and of n-grams of words, weighted by BM25; the same for every store.

Tokens, stop words and stems are those of Qdrant's engine; the store multiplies with the inverse document frequency.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
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
_PART = 8  #: texts whose language is detected together
_MAX_OTHER_LANGUAGES = 0.1  #: of the parts of a table that counts as English
_SCRIPT_SHARE = 0.2  #: of the letters; texts quote names and terms in Latin letters
#: Languages that are known by their script. Japanese comes before Chinese, whose signs it uses too.
_SCRIPTS = {
    "japanese": re.compile("[\u3040-\u30ff]"),
    "chinese": re.compile("[\u3400-\u9fff\uf900-\ufaff]"),
    "korean": re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
    "arabic": re.compile("[\u0600-\u06ff\u0750-\u077f]"),
    "hebrew": re.compile("[\u0590-\u05ff]"),
    "greek": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "hindi": re.compile("[\u0900-\u097f]"),
    "russian": re.compile("[\u0400-\u04ff]"),
}
_HIRAGANA, _HAN = re.compile("[\u3040-\u309f]"), re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_JAPANESE_QUESTION = re.compile("何[年月日時分秒人個回台本枚歳円階番名度]?間?|誰")
_NO_HIRAGANA = re.compile("[\u30a0-\u30ff]+|[\u3400-\u9fff\uf900-\ufaff]+")
#: Particles, pronouns, question words and modal verbs.
_CHINESE_FUNCTION = re.compile(
    "["
    "的了是吗呢吧么什怎样哪里谁几多少如何为可以需要我你他她它们这那有没和与在及或从到"
    "会能该请问个些被把给对于用就都也很还不"
    "]"
)
_LATIN = tuple(name for name in _LANGUAGES if name not in _SCRIPTS)
#: Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}+")


#: Emoji and other pictures, each of which is a word.
_PICTURES = re.compile("[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]")


class Words:
    """Weights the words of documents of one language whose average length is known."""

    def __init__(self, average: float, language: str = DEFAULT_LANGUAGE) -> None:
        self._average = max(average, 1.0)
        self.language = language
        self._language = language if language in _LANGUAGES else DEFAULT_LANGUAGE

    def document(self, text: str) -> Sparse:
        return _weighed(_counted(text, self._language), self._average)

    def query(self, text: str) -> Sparse:
        """Return every word as often as the question says it."""
        counted = _counted(text, self._language)
        return Sparse(tuple(counted), tuple(map(float, counted.values())))

    def length(self, text: str) -> int:
        """Return how many words the text has, stop words left out."""
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
        """Return what records that hold the code have in common."""
        return Sparse((_code_index(key),), (1.0,), SparseName.NGRAMS)

    def query_ngrams(self, text: str) -> Sparse:
        counted = Counter(_ngrams(text))
        return Sparse(tuple(counted), tuple(map(float, counted.values())), SparseName.NGRAMS)

    def asked(self, text: str) -> list[AskedWord]:
        """Return the distinct words of a question that are not stop words."""
        words = {word.lower(): None for word in _WORD.findall(_UNSPACED_RUN.sub(" ", text[:LONGEST]))}
        spaced = ((word, self.stems(word)) for word in words)
        asked = [AskedWord(word, stems, frozenset(_ngrams_of(word))) for word, stems in spaced if stems]
        pairs = {pair: None for run in _UNSPACED_RUN.findall(text[:LONGEST]) for pair in _content_pairs(run)}
        return asked + [AskedWord(pair, frozenset([crc32(pair.encode())]), frozenset()) for pair in pairs]

    def held(self, text: str) -> HeldWords:
        """Return the words of a record as a question's words are compared with them."""
        return HeldWords(self.distinct(text), text[:LONGEST])

    def distinct(self, text: str) -> frozenset[int]:
        """Return the words that are not stop words, as hashes of their stems."""
        return frozenset(_counted(text, self._language))

    def stems(self, word: str) -> frozenset[int]:
        """Return what ``distinct`` does, for a single word: the next text is likely to have it, too."""
        return _stems_of(word, self._language) if len(word) <= _LONGEST_WORD else self.distinct(word)

    def literally(self, asked: str, text: str) -> bool:
        """Return whether the text holds every word of the question except stop words; punctuation in codes is
        ignored.
        """
        every, held = self.distinct(asked), self.distinct(text)
        if not every or every <= held:
            return bool(every)
        return has_code(asked) and self.distinct(_joined(asked)) <= held | self.distinct(_joined(text))


@dataclass(frozen=True)
class AskedWord:
    """A word of a question."""

    text: str
    stems: frozenset[int]  #: one, but for words that the tokenizer divides
    ngrams: frozenset[int]  #: empty in a script without spaces, where two signs are a word


@dataclass(frozen=True)
class HeldWords:
    """The words of a record."""

    stems: frozenset[int]
    text: str

    @cached_property
    def ngrams(self) -> frozenset[int]:
        return frozenset(_ngrams(self.text))

    @cached_property
    def spelled(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text.lower()))


def _content_pairs(run: str) -> Iterator[str]:
    """Yield every two adjacent characters, without those that only give a sentence its grammar.

    Japanese writes these in hiragana; Chinese has a few signs for them.
    """
    signs = normalize("NFKC", run)
    if _HIRAGANA.search(signs):
        parts = _NO_HIRAGANA.findall(_JAPANESE_QUESTION.sub(" ", signs))
    elif _HAN.search(signs):
        parts = _CHINESE_FUNCTION.split(signs)
    else:
        parts = [signs]
    long = [part for part in parts if len(part) > 1]
    for part in long or [signs]:
        yield from _pairs(part)


def _weighed(counted: Mapping[int, int], average: float, name: SparseName = SparseName.WORDS) -> Sparse:
    """Return BM25's weights of a document, without the inverse document frequency."""
    even = _SATURATION * (1 - _LENGTH + _LENGTH * sum(counted.values()) / average)
    values = tuple(many * (_SATURATION + 1) / (many + even) for many in counted.values())
    return Sparse(tuple(counted), values, name)


def _counted(text: str, language: str) -> dict[int, int]:
    """Return how often each word occurs, by the hash of its stem; stop words left out.

    Where a script has no spaces, every two signs that stand together count as a word: what a dictionary makes of
    them depends on the words around, so that a question of one word would miss the sentence that holds it.
    """
    text = text[:LONGEST]
    runs = _UNSPACED_RUN.findall(text) if _UNSPACED.search(text) else ()
    spaced = _UNSPACED_RUN.sub(" ", text) if runs else text
    vector = _model(language).embed_document(spaced)
    counted = {word: round(many) for word, many in zip(vector.indices, vector.values, strict=True)}
    for sign in [*(pair for run in runs for pair in _pairs(run)), *_PICTURES.findall(text)]:
        hashed = crc32(sign.encode())
        counted[hashed] = counted.get(hashed, 0) + 1
    return counted


@lru_cache(maxsize=20_000)
def _stems_of(word: str, language: str) -> frozenset[int]:
    return frozenset(_counted(word, language))


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
    """Return whether the text has a word with a digit: a number, an identifier, a version. A code cannot be
    reworded.
    """
    return bool(_CODE.search(text))


def _joined(text: str) -> str:
    return _CODE.sub(lambda code: _SIGNS.sub("", code[0]), text[:LONGEST])


def average_words(texts: Sequence[str], language: str) -> float:
    """Return the mean number of words per text without stop words, at least 1; a guess where there is no text yet."""
    if not texts:
        return _UNSEEN_AVERAGE
    counted = sum(Words(1.0, language).length(text) for text in texts)
    return max(counted / len(texts), 1.0)


def _script_of(text: str) -> str | None:
    """Return the language that the text's script belongs to; None for Latin and scripts that are not known."""
    letters = sum(map(str.isalpha, text))
    counted = ((language, len(script.findall(text))) for language, script in _SCRIPTS.items())
    return next((language for language, signs in counted if signs > letters * _SCRIPT_SHARE), None)


def language_of(texts: Sequence[str]) -> str:
    """Return the language of most letters, by their script; of a script that many use, the one with most stop words.

    English when there are too few letters or stop words.
    """
    sample = "\n".join(text[:500] for text in texts)[:LONGEST]
    script = _script_of(sample)
    if script is not None:
        return script
    every = len(_stopped(None).embed_query(sample).indices)
    stops = {name: every - len(_stopped(name).embed_query(sample).indices) for name in _LATIN}
    likely = max(stops, key=stops.__getitem__)
    return likely if stops[likely] >= _LEAST_STOP_WORDS else DEFAULT_LANGUAGE


def is_foreign(question: str, language: str) -> bool:
    """Return whether a question is clearly in another language than that one."""
    if not any(map(str.isalpha, question)):
        return False
    script, own = _script_of(question), language if language in _SCRIPTS else None
    if script != own:
        return not {script, own} <= {"japanese", "chinese"}
    if script is not None:
        return False
    every = len(_stopped(None).embed_query(question).indices)
    stops = {name: every - len(_stopped(name).embed_query(question).indices) for name in _LATIN}
    return max(stops.values()) >= 2 and max(stops.values()) > 2 * stops.get(language, 0)


def is_english(texts: Sequence[str]) -> bool:
    """Return whether nearly all of the texts are English, or too short to detect a language."""
    parts = ["\n".join(text[:500] for text in texts[start : start + _PART]) for start in range(0, len(texts), _PART)]
    others = sum(language_of([part]) != DEFAULT_LANGUAGE for part in parts)
    return others <= len(parts) * _MAX_OTHER_LANGUAGES


def _unspaced(text: str) -> bool:
    return bool(_UNSPACED.search(text, 0, LONGEST))


@lru_cache(maxsize=32)
def _model(language: str) -> Bm25:
    # Without saturation and length normalization, the weight of a word is how often it occurs.
    folded, words = True, TokenizerType.Word
    return Bm25(Bm25Config(k=1e6, b=0.0, avg_len=1.0, language=language, ascii_folding=folded, tokenizer=words))


@lru_cache(maxsize=32)
def _stopped(language: str | None) -> Bm25:
    """Return a model that removes the stop words of the language and stems nothing."""
    stops = _LANGUAGES[language] if language else StopwordsSet()
    return Bm25(Bm25Config(avg_len=1.0, stopwords=stops, stemmer=DisabledStemmer()))
