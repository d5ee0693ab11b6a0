"""The control socket says all that was said, however the other side ended."""

from __future__ import annotations

from services.execution.sandbox.protocol.wire import control_pair, receive, send


def test_what_was_said_before_the_end_arrives_even_if_our_own_word_was_never_read() -> None:
    here, there = control_pair()
    with here:
        send(there, {"t": "ended"})
        send(here, {"t": "extend"})
        there.close()
        assert receive(here)[0] == {"t": "ended"}
        assert receive(here)[0] is None
