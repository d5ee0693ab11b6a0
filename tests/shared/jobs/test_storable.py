"""What Postgres refuses is made visible, and no event is larger than 16 kB."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from shared.jobs.running.report import EVENT_BYTES, event_data, storable

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(st.characters(codec=None)),  # surrogates too
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
)


def test_nul_and_lone_surrogates_are_made_visible() -> None:
    assert storable({"a\x00": ["b\x00", "\ud800"]}) == {"a␀": ["b␀", "\ufffd\ufffd\ufffd"]}


def test_numbers_come_back_as_they_were_or_not_as_numbers() -> None:
    assert storable([2**64 - 1, -(2**63), 2**64, float("nan"), 1e300, True]) == [
        2**64 - 1, -(2**63), "18446744073709551616", None, 1e300, True,
    ]  # fmt: skip


@pytest.mark.slow
@given(JSON)
def test_whatever_comes_is_storable(value: JsonValue) -> None:
    text = json.dumps(storable(value), ensure_ascii=False, allow_nan=False)
    assert "\x00" not in text.encode().decode()
    assert "\\u0000" not in text


def test_long_strings_of_an_event_are_cut_and_short_ones_kept() -> None:
    fitting = event_data({"code": "x" * 100_000, "outcome": "error", "nested": {"more": ["é" * 50_000]}})
    assert len(json.dumps(fitting, ensure_ascii=False).encode()) <= EVENT_BYTES
    assert fitting["outcome"] == "error"
    assert str(fitting["code"]).startswith("xxxx")


def test_too_many_short_strings_are_left_out_with_a_word() -> None:
    assert event_data({"list": ["word"] * 100_000}) == {"truncated": True}
