"""What a program prints is kept within its cap, in whole characters, without anything that a terminal obeys."""

from __future__ import annotations

import pytest

from services.execution.sandbox.host.streams import Capture, LiveOutput, both, escaped


def captured(text: str, cap: int = 100) -> Capture:
    capture = Capture(cap)
    capture.add(text.encode())
    return capture


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\n", "a\tb\r\n"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\0\x7f\x9b", "\\x00\\x7f\\x9b"),
        ("\udc80", "\\udc80"),
        ("é", "é"),
    ],
)
def test_what_is_no_plain_text_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_what_fits_is_whole_and_what_does_not_keeps_its_head_and_tail() -> None:
    assert captured("short").text(100) == ("short", False)
    long = Capture(100)
    for number in range(1000):
        long.add(b"%d\n" % number)
    text, cut = long.text(100)
    assert cut
    assert text.startswith("0\n1\n")
    assert text.endswith("998\n999\n")
    assert "bytes in all" in text
    assert len(text.encode()) <= 100


def test_two_streams_share_one_cap() -> None:
    stdout, stderr, cut = both(captured("o" * 90), captured("e" * 20), 100)
    assert (stderr, cut) == ("e" * 20, True)
    assert len(stdout) <= 80
    assert both(captured("o" * 40), captured("e" * 40), 100) == ("o" * 40, "e" * 40, False)


def test_live_output_comes_in_whole_characters_and_bounded_pieces() -> None:
    heard: list[tuple[str, str]] = []
    live = LiveOutput(lambda stream, text: heard.append((stream, text)))
    letters = "é".encode()
    live.add("stdout", letters[:1])
    live.add("stdout", letters[1:] + b"x" * 20_000)
    live.add("stderr", b"\xc3")
    live.end()
    assert "".join(text for stream, text in heard if stream == "stdout") == "é" + "x" * 20_000
    assert "".join(text for stream, text in heard if stream == "stderr") == "\\xc3"
    assert max(len(text) for _, text in heard) <= 8_000


def test_live_output_ends_where_there_is_too_much_of_it() -> None:
    heard: list[str] = []
    live = LiveOutput(lambda _stream, text: heard.append(text))
    for _ in range(40):
        live.add("stdout", b"x" * 10_000)
    live.end()
    assert sum(map(len, heard)) == 256_000
