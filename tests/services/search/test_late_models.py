"""A late model loses its step; the steps keep their order, and the job says which were left out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from services.search.store.open import open_local
from shared.errors import ProvidersFailed
from shared.llm.chat import ChatRequest
from tests.services.search.conftest import CONFERENCE, EXHIBITORS, SESSIONS
from tests.services.search.planning.test_reflection import job
from tests.services.search.service import HashedWords, MemorySearchService
from tests.support.wait import until

_SAID = {"text": "s1 is about the vacuum of postgres.", "citations": [{"table": "sessions", "id": "s1"}]}


@pytest.fixture
def service() -> Iterator[MemorySearchService]:
    """Of which a model gets a fifth of a second, and the search all the time that it needs."""
    store = open_local()
    service = MemorySearchService(store, HashedWords(), search_seconds=600, search_model_seconds=0.2)
    service.catalog.create("tenant", "c", CONFERENCE)
    service.ingest("sessions", SESSIONS)
    service.ingest("exhibitors", EXHIBITORS)
    yield service
    store.close()


def late(request: ChatRequest) -> str:
    """No answer until the deadline, as a provider's client ends."""
    deadline = request.deadline
    assert deadline is not None
    until(lambda: time.monotonic() >= deadline, "the deadline of the question", 60)
    raise ProvidersFailed("the model was late")


def test_a_late_model_loses_its_step_and_is_asked_the_next(service: MemorySearchService) -> None:
    held = job(plan=late, answer=json.dumps({"answered": True, "sentences": [_SAID]}))
    result = service.search("postgres vacuum tuning", job=held)
    assert [request.role for request in held.llm.requests] == ["search.plan", "search.answer"]
    assert result.verdict == "found"
    assert result.answer is not None
    assert "vacuum of postgres" in result.answer
    [warning] = held.report.warnings
    assert warning.startswith("No model answered (search.plan: providers_failed within 0.2 s)")


def test_a_model_that_is_late_twice_is_asked_no_more(service: MemorySearchService) -> None:
    held = job(plan=late, reflect=late)
    text = "elephant housekeeping in zoos of faraway cities"
    result = service.search(text, job=held, tables=["sessions"], relax_filters=True)
    assert len(result.attempts) == 3  # the retries continued without it
    assert [request.role for request in held.llm.requests] == ["search.plan", "search.reflect"]
    planned, reflected, left_out = held.report.warnings
    assert "(search.plan:" in planned
    assert "(search.reflect:" in reflected
    assert left_out == "Left out, as no model answered: search.reflect."


def test_after_a_model_that_is_down_every_step_left_out_is_named(service: MemorySearchService) -> None:
    def down(request: ChatRequest) -> str:
        raise ProvidersFailed("nobody is there")

    held = job(plan=down, answer="never")
    assert service.search("postgres vacuum tuning", job=held).answer
    assert held.report.warnings[1:] == ["Left out, as no model answered: search.answer."]
