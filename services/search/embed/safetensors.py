"""Weights from a safetensors file: a JSON header, then raw little-endian tensors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def load(path: Path) -> dict[str, NDArray[np.float32]]:
    """Every 32-bit float tensor of the file by name (others, such as position ids, are left out)."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(raw[:8].tobytes(), "little")
    if not 2 <= size <= min(len(raw) - 8, 100_000_000):
        raise ValueError("this is no safetensors file")
    header = json.loads(raw[8 : 8 + size].tobytes())
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, end = entry["data_offsets"]
        data = raw[8 + size + start : 8 + size + end]
        weights[name] = np.frombuffer(data.tobytes(), dtype="<f4").reshape(entry["shape"])
    return weights
