"""The way between a supervisor and init: a socket that open files go through, or two pipes for what they hold."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Protocol

from services.execution.sandbox.protocol.wire import Message, decoded, receive, send, write_all

_HEAD = struct.Struct(">I")
_MAX_WORDS = 1_000_000  #: bytes of a message without its files
_MAX_FILES = 200
_PIECE = 1 << 20


class Control(Protocol):
    """Messages with open files, both ways."""

    def fileno(self) -> int:
        """Return the descriptor to poll for the next message."""
        ...

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send a message. Raises: OSError when the other side is gone."""
        ...

    def receive(self) -> tuple[Message | None, list[int]]:
        """Return the next message (``None`` at the end) and its open files, which the caller closes."""
        ...


class SocketControl:
    """The files themselves go through, as descriptors."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def fileno(self) -> int:
        return self._control.fileno()

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        send(self._control, message, descriptors)

    def receive(self) -> tuple[Message | None, list[int]]:
        message, descriptors, _ = receive(self._control)
        return message, descriptors


class PipeControl:
    """What the files hold goes through, where no descriptor can: gVisor lets none of the host's in."""

    def __init__(self, source: int, target: int, most_bytes: int) -> None:
        """``most_bytes`` of one file: a larger one ends the conversation."""
        self._source = source
        self._target = target
        self._most_bytes = most_bytes

    def fileno(self) -> int:
        return self._source

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        sizes = [os.fstat(descriptor).st_size for descriptor in descriptors]
        body = json.dumps([message, sizes], ensure_ascii=True).encode()
        write_all(self._target, _HEAD.pack(len(body)) + body)
        for descriptor, size in zip(descriptors, sizes, strict=True):
            offset = 0
            while offset < size:  # never fewer bytes than were announced, however the file shrinks meanwhile
                part = os.pread(descriptor, min(_PIECE, size - offset), offset) or bytes(min(_PIECE, size - offset))
                write_all(self._target, part)
                offset += len(part)

    def receive(self) -> tuple[Message | None, list[int]]:
        """Receive a message. Raises: ValueError for an invalid one."""
        head = self._exactly(_HEAD.size)
        if head is None:
            return None, []
        length = _HEAD.unpack(head)[0]
        body = self._exactly(length) if length <= _MAX_WORDS else None
        if body is None:
            return None, []
        parts = json.loads(body)
        message, sizes = parts if isinstance(parts, list) and len(parts) == 2 else (None, None)
        if not isinstance(message, dict) or not isinstance(sizes, list) or len(sizes) > _MAX_FILES:
            raise ValueError("a message is an object and the sizes of its files")
        return decoded(json.dumps(message).encode()), [self._file(int(size)) for size in sizes]

    def _file(self, size: int) -> int:
        """Return the next bytes as a file without a name. Raises: ValueError, EOFError."""
        if not 0 <= size <= self._most_bytes:
            raise ValueError("a file is larger than may come through")
        descriptor = os.memfd_create("file", os.MFD_CLOEXEC)
        left = size
        while left:
            part = os.read(self._source, min(left, _PIECE))
            if not part:
                os.close(descriptor)
                raise EOFError("a file has no end")
            write_all(descriptor, part)
            left -= len(part)
        return descriptor

    def _exactly(self, size: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < size:
            part = os.read(self._source, min(size - len(parts), _PIECE))
            if not part:
                return None
            parts += part
        return bytes(parts)
