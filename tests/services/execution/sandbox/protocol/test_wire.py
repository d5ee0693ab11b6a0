"""Frames are cut out of bytes as they come; the control socket says all that was said, however the other side ended."""

from __future__ import annotations

import os

import pytest

from services.execution.sandbox.protocol.wire import (
    FrameReader,
    complete_frame,
    control_pair,
    frame,
    read_frame,
    receive,
    send,
)


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


def test_what_was_said_before_the_end_arrives_even_if_our_own_word_was_never_read() -> None:
    here, there = control_pair()
    with here:
        send(there, {"t": "ended"})
        send(here, {"t": "extend"})
        there.close()
        assert receive(here)[0] == {"t": "ended"}
        assert receive(here)[0] is None


def test_frames_are_whole_however_their_bytes_are_cut() -> None:
    data = frame({"t": "one"}) + frame({"t": "two", "text": "é\0"})
    reader = FrameReader()
    messages = [message for byte in data for message in reader.feed(bytes([byte]))]
    assert messages == [{"t": "one"}, {"t": "two", "text": "é\0"}]
    assert FrameReader().feed(data) == messages
    assert not reader.broken


def test_a_frame_is_completed_from_any_start_of_it() -> None:
    data = frame({"t": "one"})
    for start in range(1, len(data)):
        for there in (len(data), len(data) - 1):  # or the stream ends before the frame does
            source, end = os.pipe()
            os.write(end, data[start:there])
            os.close(end)
            assert complete_frame(source, data[:start]) == (data if there == len(data) else b"")
            os.close(source)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff" * 8,
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x03{,}",
        b"\x00\x00\x00\x00",
        b"\x00\x03\x0d\x40" + b"[" * 200_000,
        b"\x00\x00\x00\x04\xff\xfe{}",
        framed(b'{"a": [' + b"[]," * 1_000_000 + b"[]]}"),
    ],
)
def test_what_is_no_frame_ends_the_conversation(garbage: bytes) -> None:
    reader = FrameReader()
    assert reader.feed(frame({"t": "one"}) + garbage + frame({"t": "two"})) == [{"t": "one"}]
    assert reader.broken
    assert reader.feed(frame({"t": "three"})) == []


def test_signs_in_a_text_are_no_lists() -> None:
    text = "[" * 1_500_000 + '\\"{'
    assert FrameReader().feed(frame({"text": text})) == [{"text": text}]


def test_a_frame_that_has_begun_is_waited_for() -> None:
    reader = FrameReader()
    reader.feed(frame({"t": "one"})[:-1])
    assert reader.waiting
    reader.feed(frame({"t": "one"})[-1:])
    assert not reader.waiting


def test_a_frame_that_is_cut_short_is_none() -> None:
    there, here = os.pipe()
    os.write(here, frame({"t": "one"}) + frame({"t": "two"})[:-1])
    os.close(here)
    assert read_frame(there) == {"t": "one"}
    assert read_frame(there) is None
    os.close(there)


def test_a_claim_comes_with_the_checksum_that_every_kernel_can_work_out() -> None:
    message = {"t": "result", "text": "\u00e4" * 5000}
    data = frame(message)
    reader = FrameReader()
    assert reader.feed_claims(data[:100]) == []
    assert reader.feed_claims(data[100:]) == [(message, (1 + sum(data[4:])) % 65_521 % 2003)]
