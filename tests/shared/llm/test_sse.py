"""Server-sent events: whatever the borders of the chunks and the ends of the lines, the same events come out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.llm.wires.sse import SseDecoder, SseEvent

BOM = b"\xef\xbb\xbf"


def decoded(*chunks: bytes) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    events = [event for each in chunks for event in decoder.feed(each)]
    last = decoder.end()
    return [(event.name, event.data) for event in (*events, *([last] if last else []))]


@pytest.mark.parametrize(
    ("sent", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", "a"), ("", "b")]),
        (b"event: error\ndata: a\n\ndata: b\n\n", [("error", "a"), ("", "b")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b": comment\n\n:\n\ndata: a\n\n", [("", "a")]),
        (b"retry: 100\nid: 1\ndata: a\nother: x\n\n", [("", "a")]),
        (b"data\n\ndata:\n\ndata: \n\n", []),
        (b"event: ping\n\ndata: a\n\n", [("", "a")]),
        (BOM + b"data: a\n\n", [("", "a")]),
        (b"data: a" + BOM + b"b\n\n", [("", "a\ufeffb")]),
        (b"data: a", [("", "a")]),
        (b"data: a\n", [("", "a")]),
        ("data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(), [("", "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg")]),
        (b"", []),
        (b"\n\n\r\n", []),
    ],
)
def test_events(sent: bytes, events: Sequence[tuple[str, str]]) -> None:
    assert decoded(sent) == list(events)
    assert decoded(*(bytes([byte]) for byte in sent)) == list(events), "byte by byte"


def test_bytes_that_are_not_utf8_are_no_text() -> None:
    with pytest.raises(UnicodeDecodeError):
        decoded("data: h\u00e9\n\n".encode("latin-1"))


TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: bool(text.strip())
)


@given(st.lists(TEXTS, max_size=6), st.sampled_from(["\n", "\r", "\r\n"]), st.booleans(), st.data())
def test_the_borders_of_chunks_say_nothing(texts: list[str], end: str, bom: bool, data: st.DataObject) -> None:
    sent = (BOM if bom else b"") + "".join(f"data: {text}{end}{end}" for text in texts).encode()
    borders = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=8)))
    chunks = [sent[first:last] for first, last in zip([0, *borders], [*borders, len(sent)], strict=True)]
    assert decoded(*chunks) == [("", text) for text in texts]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_events_or_no_text(chunks: list[bytes]) -> None:
    try:
        events = decoded(*chunks)
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            b"".join(chunks).decode()
        return
    assert events == decoded(b"".join(chunks))
    assert all(SseEvent(name, data).data.strip() for name, data in events)
