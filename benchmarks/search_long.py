"""Long records, compared with a plain splitter and the ranks of dense and bm25s: a sentence at 5, and ingest.

Ingest is measured in seconds of the processor, as other work on the machine changes the time on the clock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import bm25s
import numpy as np
import Stemmer

from benchmarks.golden import manuals
from benchmarks.golden.manuals import Marked
from benchmarks.search_service import model, search_service
from benchmarks.table import Line, at_most
from services.search.embed.minilm import MiniLm
from tests.services.search.service import MemorySearchService

_THREADS = 2
_SIZE, _OVERLAP = 1000, 100  # characters, as most splitters have it
Finder = Callable[[str], Sequence[str]]  #: a question to the five best passages


def lines() -> list[Line]:
    records, marked = manuals.make()
    embedder = model(threads=_THREADS)
    with search_service({"manuals": {}}, embedder) as service:
        service.library.probes(embedder)  # once per process, whatever is ingested
        began = time.process_time()
        result = service.ingest("manuals", records)
        ours_took = time.process_time() - began
        assert result.ingested == len(records)
        began = time.process_time()
        peer = _peer([record["text"] for record in records], embedder)
        peer_took = time.process_time() - began
        ours, theirs = _recall(lambda question: _ours(service, question), marked), _recall(peer, marked)
        verdicts = Counter(service.search(each.question, answer=False, max_reflections=0).verdict for each in marked)
    least = theirs * 0.95 + 0.03
    out = [
        Line(f"recall of the sentence at 5, {len(marked)} questions", f"{ours:.1%}", f"{theirs:.1%}", ours / theirs,
             f">= {least:.1%}", ours >= least),
        at_most(f"ingest of {len(records)} manuals of {manuals.PAGES} pages", ours_took, peer_took, "s", 1.2),
    ]  # fmt: skip
    weak = 1 - verdicts["found"] / len(marked)
    return [*out, Line("answerable called weak or not found", f"{weak:.1%}", "", weak, "<= 5%", weak <= 0.05)]


def _ours(service: MemorySearchService, question: str) -> list[str]:
    result = service.search(question, answer=False, max_reflections=0)
    every = [passage for hits in result.hits.values() for hit in hits for passage in hit.passages]
    return [passage.text for passage in sorted(every, key=lambda each: -each.score)[:5]]


def _peer(texts: Sequence[str], embedder: MiniLm) -> Finder:
    chunks = [chunk for text in texts for chunk in _chunks(text)]
    vectors = embedder.documents(chunks)
    stemmer = Stemmer.Stemmer("english")

    def tokens(of: Sequence[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(list(of), stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index(tokens(chunks), show_progress=False)

    def find(question: str) -> list[str]:
        asked = embedder.query(question)
        assert asked is not None
        near = np.argsort(-(vectors @ asked))[:50]
        worded, _ = index.retrieve(tokens([question]), k=50, show_progress=False)
        ranks: Counter[int] = Counter()
        for ranking in (near, worded[0]):
            ranks.update({int(chunk): 1 / (60 + rank) for rank, chunk in enumerate(ranking, 1)})
        return [chunks[chunk] for chunk, _ in ranks.most_common(5)]

    return find


def _chunks(text: str) -> list[str]:
    """Cut at the last blank before ``_SIZE`` characters; the next part begins ``_OVERLAP`` characters before that."""
    out, start = [], 0
    while start < len(text):
        end = min(start + _SIZE, len(text))
        if end < len(text):
            end = max(text.rfind(" ", start, end), start + _SIZE // 2)
        out.append(text[start:end])
        start = end if end == len(text) else text.rfind(" ", start, end - _OVERLAP) + 1
    return out


def _recall(find: Finder, marked: Sequence[Marked]) -> float:
    return sum(any(each.sentence in passage for passage in find(each.question)) for each in marked) / len(marked)
