"""The cache gives a start for reading, never a newer version than requested."""

from __future__ import annotations

from shared.flows.cache import DocumentCache
from tests.shared.flows.drafts import diagram


def test_a_known_version_is_a_start_for_later_ones_and_not_for_earlier_ones() -> None:
    cache, document = DocumentCache(), diagram("a")
    cache.keep("flow", 3, document)
    assert cache.find("flow", 3) == (3, document)
    assert cache.find("flow", 9) == (3, document)
    assert cache.find("flow", 2) is None
    assert cache.find("other", 3) is None


def test_an_older_version_does_not_replace_a_newer_one() -> None:
    cache, newer = DocumentCache(), diagram("a", "b")
    cache.keep("flow", 5, newer)
    cache.keep("flow", 4, diagram("a"))
    assert cache.find("flow", 5) == (5, newer)


def test_the_flows_used_longest_ago_are_dropped_beyond_the_number_of_elements() -> None:
    cache = DocumentCache(most_elements=6)
    for flow in ("first", "second"):
        cache.keep(flow, 1, diagram("a", "b"))
    cache.find("first", 1)
    cache.keep("third", 1, diagram("a", "b"))
    assert cache.find("second", 1) is None
    assert cache.find("first", 1) is not None


def test_the_latest_flow_is_kept_however_large_it_is() -> None:
    cache = DocumentCache(most_elements=1)
    cache.keep("large", 1, diagram("a", "b", "c"))
    assert cache.find("large", 1) is not None
