"""An ingest whose process is killed is finished by the next one: nothing twice, nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from services.search.embed.port import Vectors
from services.search.store.edge import EdgeStore
from services.search.store.port import TablePart
from tests.services.search.service import HashedWords, MemorySearchService

_RECORDS = [
    {"id": f"r{number}", "name": f"engine {number}", "facets": {"topic": f"repair {number}"}} for number in range(600)
]
_BATCH = 256


class _Killed(HashedWords):
    """Kills its process when the texts with these words are embedded."""

    def __init__(self, words: str) -> None:
        super().__init__(size=64)
        self._words = words

    def documents(self, texts: Sequence[str]) -> Vectors:
        if any(self._words in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().documents(texts)


def _service(folder: Path, embedder: HashedWords) -> MemorySearchService:
    service = MemorySearchService(EdgeStore(folder), embedder)
    service.catalog.create("tenant", "c", {"t": {"facets": {"topic": 1.0}}})
    return service


def ingest_until_killed(folder: Path, words: str) -> None:
    _service(folder, _Killed(words)).ingest("t", _RECORDS)


@pytest.mark.chaos
@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("words", ["repair 300", "engine 300"], ids=["before the facets", "between facets and records"])
def test_an_ingest_killed_in_its_second_batch_is_finished_by_the_next(tmp_path: Path, words: str) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.services.search.test_killed_ingest import ingest_until_killed\n"
        "ingest_until_killed(Path(sys.argv[1]), sys.argv[2])"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path), words], check=False)
    assert killed.returncode == -signal.SIGKILL
    service = _service(tmp_path, HashedWords(size=64))
    result = service.ingest("t", _RECORDS)
    assert (result.unchanged, result.ingested, result.updated) == (_BATCH, len(_RECORDS) - _BATCH, 0)
    table = service.library.open(service.catalog.find("tenant", "c"), "t")
    assert [service.store.count(table.bucket(part)) for part in TablePart] == [len(_RECORDS)] * 2
    assert service.ingest("t", _RECORDS).unchanged == len(_RECORDS)
    [hit, *_] = service.search("engine 299").hits["t"]
    assert hit.id == "r299"
    service.store.close()
