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
_PROBES = Path(__file__).parent / "probes.txt"
#: Of the way from unrelated to known answers, where the usual threshold lies: so that at most 5 % of answerable
#: questions are called weak on the tables of ``benchmarks/golden``, also on those whose records are titles only.
_USUAL_SHARE = 0.23
#: Bands between floor and usual threshold, above the latter, in which a record with room for them needs the words.
_ROOMY_BANDS = 1.5
_SAMPLE = 64
_DOMAINS_LEFT_OUT = 2


@dataclass(frozen=True)
class Threshold:
    """Cosines from which a record counts."""

    floor: float  #: 95 of 100 unrelated questions stay below it
    usual: float  #: in force when no other is chosen

    def way(self, cosine: float) -> float:
        """Where the cosine lies between an unrelated record (0) and a known answer (1); not bounded."""
        return (cosine - self.floor) / max((self.usual - self.floor) / _USUAL_SHARE, 1e-6)

    def words_needed(self, cosine: float, *, roomy: bool = False) -> float:
        """The share of a question's words that a record of that cosine must hold to be a strong hit.

        Half of them at the usual threshold, none twice as far above the floor (``roomy``, of records with room for
        all of them: 2.5 times); 2 (impossible) below the threshold. There unrelated and related records are alike.
        """
        if cosine < self.usual:
            return 2.0
        band = (self.usual - self.floor) * (_ROOMY_BANDS if roomy else 1.0)
        return max(0.5 - (cosine - self.usual) / band / 2, 0.0) if band > 0 else 0.0

    def near(self, cosine: float | None) -> bool:
        """Whether the words decide too; always where there is no cosine."""
        return cosine is None or self.words_needed(cosine, roomy=True) > 0


@dataclass(frozen=True)
class Thresholds:
    master: Threshold
    facets: Threshold

    def of(self, part: TablePart) -> Threshold:
        return self.master if part is TablePart.MASTER else self.facets

    def flat(self) -> dict[str, float]:
        """As the API names them."""
        return {
            "master": self.master.usual,
            "master_floor": self.master.floor,
            "faceted": self.facets.usual,
            "faceted_floor": self.facets.floor,
        }

    @classmethod
    def parse(cls, flat: Mapping[str, float]) -> Thresholds:
        master = Threshold(flat["master_floor"], flat["master"])
        return cls(master, Threshold(flat["faceted_floor"], flat["faceted"]))


@dataclass(frozen=True)
class Probes:
    """Questions of everyday domains, each domain with one statement that answers its first question."""

    questions: Vectors  #: [domain, question, size]
    statements: Vectors  #: [domain, size]

    @classmethod
    def embed(cls, embedder: Embedder) -> Probes:
        domains = _domains()
        texts = [text for domain in domains for text in domain]
        vectors = embedder.documents(texts).reshape(len(domains), len(domains[0]), -1)
        return cls(vectors[:, 1:], vectors[:, 0])

    @classmethod
    def load(cls, embedder: Embedder, folder: Path | None) -> Probes:
        """The probes as cached in the folder by an earlier start; else embedded now, and cached."""
        if folder is None:
            return cls.embed(embedder)
        key = hashlib.sha256(f"{embedder.fingerprint}\0{_PROBES.read_text()}".encode()).hexdigest()[:16]
        file = folder / f"probes-{key}.npy"
        try:
            vectors = np.load(file)
            return cls(vectors[:, 1:], vectors[:, 0])
        except (OSError, ValueError, EOFError):
            probes = cls.embed(embedder)
        _write(file, np.concatenate([probes.statements[:, None], probes.questions], axis=1))
        return probes

    def unrelated(self) -> float:
        """95 of 100 questions stay below this cosine with the statements of all other domains."""
        scores = np.einsum("dqv,sv->dqs", self.questions, self.statements)
        for domain in range(len(self.statements)):
            scores[domain, :, domain] = -1.0
        return float(np.percentile(scores.max(axis=2), 95))

    def known(self) -> float:
        """The median cosine of a question with the statement that answers it."""
        return float(np.median(np.einsum("dv,dv->d", self.questions[:, 0], self.statements)))


def measure(store: VectorStore, master: Bucket, facets: Bucket, probes: Probes, names: Vectors) -> Thresholds:
    """By searching the table for unrelated questions, and for ``names`` of some of its records."""
    if store.count(master) == 0:
        return uncalibrated(probes)
    of_master = _calibrate(store, master, probes, names)
    of_facets = _calibrate(store, facets, probes, names) if store.count(facets) else of_master
    return Thresholds(of_master, of_facets)


def uncalibrated(probes: Probes) -> Thresholds:
    """The thresholds of the model alone, before a table is measured."""
    threshold = _threshold(probes.unrelated(), probes.known())
    return Thresholds(threshold, threshold)


def sample(names: Sequence[str]) -> list[str]:
    """An even sample of the names."""
    usable = [name for name in dict.fromkeys(names) if len(name) >= 8]
    step = max(1, len(usable) // _SAMPLE)
    return usable[::step][:_SAMPLE]


def _calibrate(store: VectorStore, bucket: Bucket, probes: Probes, names: Vectors) -> Threshold:
    domains, questions = probes.questions.shape[:2]
    best = _best(store, bucket, probes.questions.reshape(domains * questions, -1)).reshape(domains, questions)
    # The table may be about one of the domains, so the nearest ones are not unrelated questions.
    far = best[np.argsort(best.mean(axis=1))[: domains - _DOMAINS_LEFT_OUT]]
    unrelated = max(float(np.percentile(far, 95)), probes.unrelated())
    known = probes.known()
    if len(names) >= 5:
        # Where the records are nothing but titles, a name is its record: no question is as similar as that.
        known = min(known, float(np.median(_best(store, bucket, names))))
    return _threshold(unrelated, known)


def _best(store: VectorStore, bucket: Bucket, vectors: Vectors) -> Vectors:
    answers = store.search(bucket, [NearestQuery(vector, 1) for vector in vectors])
    return np.array([answer[0].score if answer else 0.0 for answer in answers], dtype=np.float32)


def _threshold(unrelated: float, known: float) -> Threshold:
    floor = max(unrelated, LOWEST)
    usual = floor + max(known - floor, 0.0) * _USUAL_SHARE
    return Threshold(round(floor, 4), round(usual, 4))


def _write(file: Path, vectors: Vectors) -> None:
    """Atomic; where nothing can be written, the next start embeds them again."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as stream:
            np.save(stream, vectors)
        part.replace(file)


def _domains() -> list[list[str]]:
    """Blocks of ``probes.txt``: a statement, then its questions."""
    blocks = _PROBES.read_text().strip().split("\n\n")
    return [block.splitlines() for block in blocks]
