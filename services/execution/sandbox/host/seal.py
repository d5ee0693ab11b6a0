"""What a kernel proves by a secret, where init cannot see how a call ended: JavaScript's, whose code cannot read it.

Each call has one seal for each way to end: what code may learn of one, as it can read the pipe that it goes into, says
nothing about another. The function is Chaskey's permutation between two additions of the key (Even and Mansour).
"""

from __future__ import annotations

import secrets

from services.execution.sandbox.protocol.wire import Json

_WORD = 0xFFFFFFFF
_ROUNDS = 16
OUTCOMES = ("returned", "raised")


class Seal:
    """The secret of one kernel, and the number of its call."""

    def __init__(self) -> None:
        self._key = [secrets.randbits(31) for _ in range(4)]
        self._call = 0

    def next_call(self) -> Json:
        """Count another call; what its request has to carry."""
        self._call += 1
        return list(self._key)

    def outcome(self, claimed: Json, seal: Json, checksum: int) -> str | None:
        """Return how the call ended, if this is the seal of that and of a frame with this checksum."""
        if claimed not in (0, 1) or not isinstance(seal, str):
            return None
        number = int(claimed)
        return (
            OUTCOMES[number] if secrets.compare_digest(seal.encode(), self._made(number, checksum).encode()) else None
        )

    def _made(self, outcome: int, checksum: int) -> str:
        key = self._key
        a, b, c, d = key[0] ^ self._call, key[1] ^ outcome, key[2] ^ checksum, key[3]
        for _ in range(_ROUNDS):
            a = (a + b) & _WORD
            b = _turned(b, 5) ^ a
            a = _turned(a, 16)
            c = (c + d) & _WORD
            d = _turned(d, 8) ^ c
            a = (a + d) & _WORD
            d = _turned(d, 13) ^ a
            c = (c + b) & _WORD
            b = _turned(b, 7) ^ c
            c = _turned(c, 16)
        return ".".join(str(word ^ part) for word, part in zip((a, b, c, d), key, strict=True))


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _WORD
