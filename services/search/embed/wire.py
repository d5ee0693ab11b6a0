"""ONNX on the wire: the few protobuf messages that a graph needs, written without the ``onnx`` package."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: ONNX element types.
FLOAT, INT8, INT64 = 1, 3, 7
_TYPES = {np.dtype("float32"): FLOAT, np.dtype("int8"): INT8, np.dtype("int64"): INT64}

Tensor = NDArray[np.float32] | NDArray[np.int8] | NDArray[np.int64]


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def real(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def block(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def tensor(name: str, value: Tensor) -> bytes:
    """A TensorProto with its raw little-endian data."""
    dims = b"".join(number(1, size) for size in value.shape)
    return dims + number(2, _TYPES[value.dtype]) + block(8, name) + block(9, np.ascontiguousarray(value).tobytes())


def attribute(name: str, value: float | Sequence[int]) -> bytes:
    """An AttributeProto: an integer, a real, or integers."""
    if isinstance(value, float):
        return block(1, name) + real(2, value) + number(20, 1)
    if isinstance(value, int):
        return block(1, name) + number(3, value) + number(20, 2)
    return block(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: float | Sequence[int]) -> bytes:
    """A NodeProto of the standard operator set."""
    body = b"".join(block(1, name) for name in inputs) + b"".join(block(2, name) for name in outputs)
    body += block(3, outputs[0]) + block(4, op)
    return body + b"".join(block(5, attribute(key, value)) for key, value in attributes.items())


def value_info(name: str, element: int, dims: Sequence[str | int]) -> bytes:
    """A ValueInfoProto: an input or output with named or fixed dimensions."""
    shape = b"".join(block(1, block(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims)
    return block(1, name) + block(2, block(1, number(1, element) + block(2, shape)))


def model(
    nodes: Sequence[bytes],
    initializers: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    opset: int = 17,
) -> bytes:
    """A whole ModelProto."""
    graph = b"".join(block(1, item) for item in nodes) + block(2, "graph")
    graph += b"".join(block(5, item) for item in initializers)
    graph += b"".join(block(11, item) for item in inputs) + b"".join(block(12, item) for item in outputs)
    return number(1, 8) + block(2, "assay") + block(7, graph) + block(8, number(2, opset))
