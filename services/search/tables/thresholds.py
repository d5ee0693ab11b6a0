"""The similarity from which a record answers a question: measured for each table and model, never guessed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.search.embed.port import Embedder, Vectors
from services.search.store.port import Bucket, NearestQuery, TablePart, VectorStore

#: The lowest floor of any table.
LOWEST = 0.15
_PROBES = Path(__file__).parent / "probes"
REFERENCE_LANGUAGE = "english"
#: Of the way from unrelated to known answers, where the usual threshold lies: so that at most 5 % of answerable
#: questions are called weak on the tables of ``benchmarks/golden``, also on those whose records are titles only.
_USUAL_SHARE, _EARLY_SHARE = 0.23, 0.1
_EARLY_LISTED = 0.25
#: Bands between floor and usual threshold, above the latter, in which a record long enough for them needs the words.
_ROOMY_BANDS = 1.5
_SAMPLE = 64
_LEFT_OUT = 0.15  #: of the domains, those that a table may be about
#: Share of the gap between known and unrelated questions in the language that the model knows best: below it, the
#: cosines of another language do not distinguish records, and the words decide.
_DISTINGUISHING = 0.6
#: Of the same gap, the least between known answers and unrelated ones in another language than the question.
_FOREIGN_GAP = 0.15
_DOMAINS = 10  #: of each file of probes; the first ones of English are the same
#: The share of the cosine in the order where the model knows the language, and where it does not.
_MAX_SHARE, _MIN_SHARE = 0.8, 0.3
#: In gaps below known answers, where the scale of the cosine begins: so that a gap weighs alike with every model.
_SCALE = 2.9
#: A record that exceeds the ten after it by so much of the whole way answers, whatever its words, from a quarter of the
#: way on; one that holds some of the words also at the floor. No absent question of ``benchmarks/golden`` does either.
_STANDING_OUT, _STANDING_OUT_WITH_WORDS = 0.7, 0.9
_STANDING_OUT_FROM, _SOME_WORDS, _LEAST_OTHERS = 0.25, 0.3, 5
#: Of the words that a record must hold where the words decide: all else equal, and less for each standard deviation
#: that its cosine is above the best of unrelated questions. Fitted on the tuning half of ``benchmarks/golden``.
_WORDS_NEEDED, _PER_DEVIATION = 0.4, 1 / 16


@dataclass(frozen=True)
class Threshold:
    """Cosines from which a record counts."""

    floor: float  #: 95 of 100 unrelated questions stay below it
    usual: float  #: in force when no other is chosen
    known: float | None = None  #: the similarity of known answers, where it does not follow from the other two
    #: Mean and standard deviation of the best cosine of unrelated questions, where the words decide; else None.
    unrelated: tuple[float, float] | None = None

    def way(self, cosine: float) -> float:
        """Return where the cosine lies between an unrelated record (0) and a known answer (1); not bounded.

        Where the words decide, the cosine says little, so that it is half of the way.
        """
        if self.unrelated:
            return 0.5
        return (cosine - self.floor) / self._whole_way

    def words_needed(self, cosine: float, *, roomy: bool = False) -> float:
        """Return the share of a question's words that a record of that cosine must hold to be a strong hit.

        Half of them at the usual threshold, none twice as far above the floor (``roomy``, of records with room for
        all of them: 2.5 times); 2 (impossible) below the threshold. There unrelated and related records are alike.
        """
        if self.unrelated:
            mean, deviation = self.unrelated
            return min(max(_WORDS_NEEDED - (cosine - mean) / max(deviation, 1e-3) * _PER_DEVIATION, 0.1), 1.0)
        if cosine < self.usual:
            return 2.0
        band = self.floor + self._whole_way * _USUAL_SHARE * (1 + (_ROOMY_BANDS if roomy else 1.0)) - self.usual
        return max(0.5 - (cosine - self.usual) / band / 2, 0.0) if band > 1e-5 else 0.0

    def stands_out(self, cosines: Sequence[float]) -> float | None:
        """Return the share of the question's words from which the first record answers, because it is so much more
        similar than the others; None where it is not. ``cosines``: of the nearest records, best first.
        """
        others = cosines[1:]
        if self.unrelated or len(others) < _LEAST_OTHERS or self._whole_way <= 1e-6:
            return None
        best = self.way(cosines[0])
        margin = best - self.way(sum(others) / len(others))
        if best >= _STANDING_OUT_FROM and margin >= _STANDING_OUT:
            return 0.0
        return _SOME_WORDS if cosines[0] >= self.least and margin >= _STANDING_OUT_WITH_WORDS else None

    @property
    def least(self) -> float:
        """The best cosine below which nothing is listed: where stems may not match, a little below the usual one."""
        return self.usual if self.known is None else self.floor - (self.known - self.floor) * _EARLY_LISTED

    @property
    def _whole_way(self) -> float:
        """From an unrelated record to a known answer."""
        if self.known is not None:
            return max(self.known - self.floor, 1e-6)
        return max((self.usual - self.floor) / _USUAL_SHARE, 1e-6)

    def near(self, cosine: float | None) -> bool:
        """Return whether the words decide too; always where there is no cosine."""
        return cosine is None or self.words_needed(cosine, roomy=True) > 0


@dataclass(frozen=True)
class CosineScale:
    """The weight and zero of the cosine in the order of hits, relative to the words."""

    share: float = _MAX_SHARE
    zero: float = -1.0  #: the cosine that counts as nothing


@dataclass(frozen=True)
class Thresholds:
    master: Threshold
    facets: Threshold
    scale: CosineScale = CosineScale()
    #: Similarity from which a question in another language is answered; None if the model cannot distinguish.
    foreign: float | None = None

    def of(self, part: TablePart) -> Threshold:
        return self.master if part is TablePart.MASTER else self.facets

    @property
    def of_foreign(self) -> Threshold | None:
        """The threshold of a question in another language, which shares no words with its answer."""
        return None if self.foreign is None else Threshold(self.foreign, self.foreign, self.foreign)

    def flat(self) -> dict[str, float]:
        """Return the thresholds under the names of the API."""
        flat = {"cosine_share": self.scale.share, "cosine_zero": self.scale.zero}
        if self.foreign is not None:
            flat["foreign"] = self.foreign
        for name, part in (("master", self.master), ("faceted", self.facets)):
            flat |= {name: part.usual, f"{name}_floor": part.floor}
            if part.known is not None:
                flat[f"{name}_known"] = part.known
            if part.unrelated:
                flat |= dict(zip((f"{name}_unrelated", f"{name}_deviation"), part.unrelated, strict=True))
        return flat

    @classmethod
    def parse(cls, flat: Mapping[str, float]) -> Thresholds:
        """Return the values of an earlier version have no scale."""
        parts = []
        for name in ("master", "faceted"):
            mean, deviation = flat.get(f"{name}_unrelated"), flat.get(f"{name}_deviation")
            unrelated = None if mean is None or deviation is None else (mean, deviation)
            parts.append(Threshold(flat[f"{name}_floor"], flat[name], flat.get(f"{name}_known"), unrelated))
        usual = CosineScale()
        scale = CosineScale(flat.get("cosine_share", usual.share), flat.get("cosine_zero", usual.zero))
        return cls(parts[0], parts[1], scale, flat.get("foreign"))


@dataclass(frozen=True)
class Probes:
    """Questions of everyday domains in one language, each domain with a statement that answers its first question."""

    questions: Vectors  #: [domain, question, size]
    statements: Vectors  #: [domain, size]

    @classmethod
    def embed(cls, embedder: Embedder, language: str = REFERENCE_LANGUAGE) -> Probes:
        domains = _domains(language)
        statements = embedder.documents([domain[0] for domain in domains])
        nothing = np.zeros_like(statements[0])
        asked = [embedder.query(text) for domain in domains for text in domain[1:]]
        questions = np.array([nothing if vector is None else vector for vector in asked], dtype=np.float32)
        return cls(questions.reshape(len(domains), len(domains[0]) - 1, -1), statements)

    @classmethod
    def load(cls, embedder: Embedder, folder: Path | None, language: str = REFERENCE_LANGUAGE) -> Probes:
        """Return the probes as cached in the folder by an earlier start; else embed and cache them."""
        if folder is None:
            return cls.embed(embedder, language)
        key = hashlib.sha256(f"2\0{embedder.fingerprint}\0{_text(language)}".encode()).hexdigest()[:16]
        file = folder / f"probes-{key}.npy"
        try:
            vectors = np.load(file)
            return cls(vectors[:, 1:], vectors[:, 0])
        except (OSError, ValueError, EOFError):
            probes = cls.embed(embedder, language)
        _write(file, np.concatenate([probes.statements[:, None], probes.questions], axis=1))
        return probes

    def unrelated(self, percentile: float = 95) -> float:
        """95 of 100 questions stay below this cosine with the statements of all other domains."""
        scores = np.einsum("dqv,sv->dqs", self.questions, self.statements)
        for domain in range(len(self.statements)):
            scores[domain, :, domain] = -1.0
        return float(np.percentile(scores.max(axis=2), percentile))

    def known(self) -> float:
        """Return the median cosine of a question with the statement that answers it."""
        return float(np.median(np.einsum("dv,dv->d", self.questions[:, 0], self.statements)))

    def gap(self) -> float:
        """Return how much more similar known answers are than 95 of 100 unrelated ones."""
        return self.known() - self.unrelated()


@dataclass(frozen=True)
class Calibration:
    """What a model can distinguish in the language of a table."""

    probes: Probes  #: in the table's language
    reference: Probes  #: in the language that the model is known to know
    foreign: Probes  #: in another language, their domains in the same order

    @property
    def distinction(self) -> float:
        """0..1: the gap between known and unrelated answers, compared with the language that the model knows best."""
        best = max(self.reference.gap(), self.probes.gap(), 1e-3)
        return max(self.probes.gap() / best, 0.0)

    @property
    def by_words(self) -> bool:
        """Whether the words decide, because the model cannot distinguish texts of this language."""
        return self.distinction < _DISTINGUISHING

    def foreign_known(self) -> float:
        """Return the median cosine of a question with the statement in another language that answers it."""
        statements, questions = self.probes.statements, self.foreign.questions[:, 0]
        domains = min(_DOMAINS, len(statements), len(questions))
        own = statements[: len(statements) // domains * domains].reshape(-1, domains, statements.shape[1])
        asked = questions[: len(questions) // domains * domains].reshape(-1, domains, questions.shape[1])
        return float(np.median(np.einsum("adv,bdv->abd", own, asked)))

    def scale(self) -> CosineScale:
        share = min(_MIN_SHARE + (1 - _MIN_SHARE) * self.distinction, _MAX_SHARE)
        known = self.reference.known()
        zero = known - _SCALE * max(known - self.reference.unrelated(50), 0.0)
        return CosineScale(round(share, 3), round(max(zero, -1.0), 4))


def measure(store: VectorStore, master: Bucket, facets: Bucket, calibration: Calibration, names: Vectors) -> Thresholds:
    """Search the table for unrelated questions in its own language, and for ``names`` of some of its records."""
    if store.count(master) == 0:
        return uncalibrated(calibration.probes)
    of_master = _calibrate(store, master, calibration, names)
    of_facets = _calibrate(store, facets, calibration, names) if store.count(facets) else of_master
    return Thresholds(of_master, of_facets, calibration.scale(), _foreign(store, master, calibration))


def _foreign(store: VectorStore, bucket: Bucket, calibration: Calibration) -> float | None:
    """Return the threshold of questions in another language; None if the model cannot distinguish them."""
    if calibration.by_words:
        return None
    unrelated, known = float(np.percentile(_far(store, bucket, calibration.foreign), 95)), calibration.foreign_known()
    gap = known - unrelated
    enough = gap > _FOREIGN_GAP * calibration.reference.gap()
    return round(unrelated + gap * _USUAL_SHARE, 4) if enough else None


def _far(store: VectorStore, bucket: Bucket, probes: Probes) -> Vectors:
    """Return the best cosine of each question of the domains that the table is not about."""
    domains, questions = probes.questions.shape[:2]
    best = _best(store, bucket, probes.questions.reshape(domains * questions, -1)).reshape(domains, questions)
    # The table may be about one of the domains, so the nearest ones are not unrelated questions.
    return best[np.argsort(best.mean(axis=1))[: domains - max(round(domains * _LEFT_OUT), 1)]]


def uncalibrated(probes: Probes) -> Thresholds:
    """Return the thresholds of the model alone, before a table is measured."""
    threshold = _threshold(probes.unrelated(), probes.known())
    return Thresholds(threshold, threshold)


def sample(names: Sequence[str]) -> list[str]:
    """Return an even sample of the names."""
    usable = [name for name in dict.fromkeys(names) if len(name) >= 8]
    step = max(1, len(usable) // _SAMPLE)
    return usable[::step][:_SAMPLE]


def _calibrate(store: VectorStore, bucket: Bucket, calibration: Calibration, names: Vectors) -> Threshold:
    probes = calibration.probes
    far = _far(store, bucket, probes)
    if calibration.by_words:
        return Threshold(LOWEST, LOWEST, None, (round(float(far.mean()), 4), round(float(far.std()), 4)))
    unrelated = max(float(np.percentile(far, 95)), probes.unrelated())
    known = probes.known()
    if len(names) >= 5:
        # Where the records are nothing but titles, a name is its record: no question is as similar as that.
        known = min(known, float(np.median(_best(store, bucket, names))))
    return _threshold(unrelated, known, early=calibration.probes is not calibration.reference)


def _best(store: VectorStore, bucket: Bucket, vectors: Vectors) -> Vectors:
    answers = store.search(bucket, [NearestQuery(vector, 1) for vector in vectors])
    return np.array([answer[0].score if answer else 0.0 for answer in answers], dtype=np.float32)


def _threshold(unrelated: float, known: float, early: bool = False) -> Threshold:
    """``early``: of a language whose stems and compounds let fewer words match, where the usual one lies lower."""
    floor = max(unrelated, LOWEST)
    usual = floor + max(known - floor, 0.0) * (_EARLY_SHARE if early else _USUAL_SHARE)
    return Threshold(round(floor, 4), round(usual, 4), round(known, 4) if early else None)


def _write(file: Path, vectors: Vectors) -> None:
    """Atomic; where nothing can be written, the next start embeds them again."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as stream:
            np.save(stream, vectors)
        part.replace(file)


def _text(language: str) -> str:
    """Return the probes of the language; of one without any, those of all other languages than the reference."""
    own = _PROBES / f"{language}.txt"
    if own.is_file():
        return own.read_text(encoding="utf-8")
    others = [file for file in sorted(_PROBES.glob("*.txt")) if file.stem != REFERENCE_LANGUAGE]
    return "\n\n".join(file.read_text(encoding="utf-8").strip() for file in others)


def _domains(language: str) -> list[list[str]]:
    """Return the blocks of a file of probes: a statement, then its questions."""
    return [block.splitlines() for block in _text(language).strip().split("\n\n")]
