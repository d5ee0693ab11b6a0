"""How the two sides of the wall talk: JSON frames on pipes, and datagrams that may carry descriptors."""

from __future__ import annotations

import array
import json
import json.scanner
import os
import re
import socket
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
Message: TypeAlias = Mapping[str, Json]

MAX_BYTES = 16_000_000  #: of one frame
_MAX_CONTAINERS = 1_000_000  #: lists and objects of one frame: an empty one takes thirty times its two bytes
_DATAGRAM = 150_000  #: of one control message; a hundred file names fit
_MAX_DESCRIPTORS = 200
_HEAD = struct.Struct(">I")
HEAD_BYTES = _HEAD.size
CHECKSUMS = 2003  #: how many there are: R reads at most 8,096 bytes at once, so its sizes end there
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)
#: As it was before any code could change it.
_encoded = json.JSONEncoder(ensure_ascii=True, allow_nan=True, separators=(", ", ": ")).encode
_scanned = json.scanner.c_make_scanner(json.JSONDecoder())  # type: ignore[attr-defined]  #: the same
_size_of = len  #: the same
_smaller = min  #: the same
_read = os.read  #: the same
_adler32 = zlib.adler32  #: the same; its lower half is the sum of all bytes and 1, modulo 65,521


def frame(message: Message) -> bytes:
    body = _encoded(message).encode()
    return _HEAD.pack(_size_of(body)) + body


def checksum(body: bytes) -> int:
    """Return the checksum of a frame's body; small enough to be part of a size, and easy to compute in every
    language.
    """
    return (_adler32(body) & 0xFFFF) % CHECKSUMS


def write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def read_frame(descriptor: int) -> Message | None:
    """Return the next message; ``None`` at the end of the stream."""
    head = _exactly(descriptor, _HEAD.size)
    if head is None:
        return None
    body = _exactly(descriptor, _HEAD.unpack(head)[0])
    return None if body is None else decoded(body)


def complete_frame(descriptor: int, start: bytes) -> bytes:
    """Read what is missing of a frame, head and body, of which this is the start; nothing if the stream ends first."""
    head = start if not start or _size_of(start) >= _HEAD.size else _exactly(descriptor, _HEAD.size, start)
    return (head and _exactly(descriptor, _HEAD.size + _HEAD.unpack_from(head)[0], head)) or b""


def _exactly(descriptor: int, size: int, start: bytes = b"") -> bytes | None:
    parts = bytearray(start)
    while _size_of(parts) < size:
        part = _read(descriptor, _smaller(size - _size_of(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def decoded(body: bytes) -> Message:
    """Parse a body. Raises: ValueError when it is not a JSON object."""
    text = body.decode("utf-8", "surrogatepass")
    try:
        value, end = _scanned(text, 0)
    except StopIteration:
        raise ValueError("a frame holds an object") from None
    if not isinstance(value, dict) or end != _size_of(text):
        raise ValueError("a frame holds an object")
    return value


class FrameReader:
    """Cuts frames out of bytes as they come; what does not fit ends the conversation."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._most = most_bytes
        self._buffer = bytearray()
        self.broken = False

    @property
    def waiting(self) -> bool:
        """Whether a frame has begun that has not ended."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Message]:
        return [message for message, _ in self.feed_claims(data)]

    def feed_claims(self, data: bytes) -> list[tuple[Message, int]]:
        """Return each message with the checksum of its frame."""
        messages: list[tuple[Message, int]] = []
        if self.broken:
            return messages
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            size = _HEAD.unpack(self._buffer[: _HEAD.size])[0]
            if size > self._most:
                self.broken = True
                self._buffer.clear()
                break
            if len(self._buffer) < _HEAD.size + size:
                break
            body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
            del self._buffer[: _HEAD.size + size]
            try:
                messages.append((decoded(_modest(body)), checksum(body)))
            except (ValueError, RecursionError):
                self.broken = True
                break
        return messages


def _modest(body: bytes) -> bytes:
    """Return the body. Raises: ValueError for one that would be far larger in memory than it is here."""
    if _containers(body) > _MAX_CONTAINERS and _containers(_TEXT.sub(b"", body)) > _MAX_CONTAINERS:
        raise ValueError("it holds too many lists and objects")
    return body


def _containers(body: bytes) -> int:
    return body.count(b"[") + body.count(b"{")


def control_pair() -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _DATAGRAM)
    return pair


def send(control: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send a message. Raises: OSError when the other side is gone."""
    carried = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    control.sendmsg([json.dumps(message, ensure_ascii=True).encode()], carried)


def receive(control: socket.socket) -> tuple[Message | None, list[int], tuple[int, int] | None]:
    """Return the next message (``None`` at the end) and its descriptors; the sender's pid and uid if the socket
    passes them.
    """
    space = socket.CMSG_SPACE(_MAX_DESCRIPTORS * 4) + socket.CMSG_SPACE(12)
    try:
        data, extra, _flags, _address = control.recvmsg(_DATAGRAM, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:  # it ended with a word of ours unread; what it said before that is still to come
        data, extra, _flags, _address = control.recvmsg(_DATAGRAM, space, socket.MSG_CMSG_CLOEXEC)
    descriptors: list[int] = []
    sender: tuple[int, int] | None = None
    for level, kind, content in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors += array.array("i", content[: len(content) - len(content) % 4])
        elif level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            pid, uid, _gid = struct.unpack("3i", content)
            sender = (pid, uid)
    return (decoded(data) if data else None), descriptors, sender
