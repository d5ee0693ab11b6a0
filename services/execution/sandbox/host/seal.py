"""What a kernel proves by a secret, where init cannot see how a call ended: JavaScript's, whose code cannot read it.

Each call has one seal for each way to end: what code may learn of one, as it can read the pipe that it goes into, says
nothing about another. The function is Chaskey's permutation between two additions of the key (Even and Mansour). It
also seals the request that the kernel has read, by two polynomials at secret points: code that reads the pipe of
requests, and writes others in their place, is not taken for the code of the call.
"""

from __future__ import annotations

import secrets

from services.execution.sandbox.protocol.wire import Json

_WORD = 0xFFFFFFFF
_ROUNDS = 16
_PRIME = 2**31 - 1
_POINT_BITS = 21  #: a product with a number below the prime, and a word of three bytes, are exact as doubles
_WORD_BYTES = 3
OUTCOMES = ("returned", "raised")


class Seal:
    """The secret of one kernel, and the number of its call."""

    def __init__(self) -> None:
        self._key = [secrets.randbits(31) for _ in range(4)]
        self._points = [secrets.randbits(_POINT_BITS) for _ in range(2)]
        self._call = 0
        self._request = [0, 0]

    def next_call(self) -> Json:
        """Count another call; what its request has to carry. Only the first comes before there is any code."""
        self._call += 1
        return [*self._key, *self._points] if self._call == 1 else None

    def bind(self, body: bytes) -> None:
        """Take the body of the call's request: the seal holds for no other one."""
        self._request = [_polynomial(body, point) for point in self._points]

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
        first, second = self._request
        a, b, c, d = key[0] ^ self._call ^ first, key[1] ^ outcome, key[2] ^ checksum, key[3] ^ second
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


def _polynomial(body: bytes, point: int) -> int:
    value = len(body)
    for start in range(0, len(body), _WORD_BYTES):
        value = (value * point + int.from_bytes(body[start : start + _WORD_BYTES], "big")) % _PRIME
    return value
