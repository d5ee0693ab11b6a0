"""From which similarity on a record answers a question: measured for each table and model, never guessed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.search.embed.port import Embedder, Vectors
from services.search.store.port import Bucket, Nearest, Part, Store

#: No table's floor is below this, whatever was measured.
LOWEST = 0.15
_PROBES = Path(__file__).parent / "probes.txt"
_BETWEEN = 0.25  # how far from unrelated to known the usual threshold lies
_SAMPLE = 64
_DOMAINS_LEFT_OUT = 2


@dataclass(frozen=True)
class Mark:
    """``floor``: 95 of 100 unrelated questions stay below. ``usual``: what is found when nobody says otherwise."""

    floor: float
    usual: float

    def words_needed(self, cosine: float) -> float:
        """The share of a question's words that a record of that cosine must hold to be like an answer.

        Half of them at the usual threshold, none twice as far above the floor; 2 below it, which no words make up for.
        Near the threshold unrelated and related records of one domain have the same cosines.
        """
        if cosine < self.usual:
            return 2.0
        band = self.usual - self.floor
        return max(1.0 - (cosine - self.floor) / band / 2, 0.0) if band > 0 else 0.0


@dataclass(frozen=True)
class Thresholds:
    master: Mark
    facets: Mark

    def of(self, part: Part) -> Mark:
        return self.master if part is Part.MASTER else self.facets

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
        master = Mark(flat["master_floor"], flat["master"])
        return cls(master, Mark(flat["faceted_floor"], flat["faceted"]))


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
    def kept(cls, embedder: Embedder, folder: Path | None) -> Probes:
        """The probes as an earlier start embedded them, or embedded now and kept."""
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
        """What a question reaches at best among statements of other domains, in 95 of 100 cases."""
        scores = np.einsum("dqv,sv->dqs", self.questions, self.statements)
        for domain in range(len(self.statements)):
            scores[domain, :, domain] = -1.0
        return float(np.percentile(scores.max(axis=2), 95))

    def known(self) -> float:
        """What a question usually reaches at the statement that answers it."""
        return float(np.median(np.einsum("dv,dv->d", self.questions[:, 0], self.statements)))


def measure(store: Store, master: Bucket, facets: Bucket, probes: Probes, names: Vectors) -> Thresholds:
    """Search the table for what it cannot hold, and for what it does: ``names`` of some of its records."""
    if store.count(master) == 0:
        return before_measuring(probes)
    master_mark = _mark(store, master, probes, names)
    return Thresholds(master_mark, _mark(store, facets, probes, names) if store.count(facets) else master_mark)


def before_measuring(probes: Probes) -> Thresholds:
    """What the model alone tells."""
    mark = _between(probes.unrelated(), probes.known())
    return Thresholds(mark, mark)


def sample(names: Sequence[str]) -> list[str]:
    """Some of the names, spread evenly."""
    usable = [name for name in dict.fromkeys(names) if len(name) >= 8]
    step = max(1, len(usable) // _SAMPLE)
    return usable[::step][:_SAMPLE]


def _mark(store: Store, bucket: Bucket, probes: Probes, names: Vectors) -> Mark:
    domains, questions = probes.questions.shape[:2]
    best = _best(store, bucket, probes.questions.reshape(domains * questions, -1)).reshape(domains, questions)
    # The table may be about one of the domains; the nearest ones say nothing about unrelated questions.
    far = best[np.argsort(best.mean(axis=1))[: domains - _DOMAINS_LEFT_OUT]]
    unrelated = max(float(np.percentile(far, 95)), probes.unrelated())
    known = float(np.median(_best(store, bucket, names))) if len(names) >= 5 else probes.known()
    return _between(unrelated, known)


def _best(store: Store, bucket: Bucket, vectors: Vectors) -> Vectors:
    answers = store.search(bucket, [Nearest(vector, 1) for vector in vectors])
    return np.array([answer[0].score if answer else 0.0 for answer in answers], dtype=np.float32)


def _between(unrelated: float, known: float) -> Mark:
    floor = max(unrelated, LOWEST)
    usual = floor + max(known - floor, 0.0) * _BETWEEN
    return Mark(round(floor, 4), round(usual, 4))


def _write(file: Path, vectors: Vectors) -> None:
    """Whole or not at all; where nothing can be written the next start embeds them again."""
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
