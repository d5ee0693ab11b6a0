"""A sentence encoder on the ONNX runtime: what the bundled models have in common."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from services.search.embed.port import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256  # MiniLM was trained on texts of this length; the rest is cut off
#: Of a batch, padding included: a larger one leaves the cache of a core (two texts of 256 tokens, or thirty of 16).
_BATCH_TOKENS = 512
_SIZE = 384


class SentenceEncoder:
    """A graph of ``bert.build`` with its tokenizer.

    Documents are embedded on ``threads`` threads, each with a batch of its own: a fifth to a third faster than all
    threads on one batch. A question is embedded on the thread that asks, so that it waits for no batch of an ingest.
    """

    def __init__(self, graph: str | bytes, tokenizer: Tokenizer, unknown: str, fingerprint: str, threads: int) -> None:
        # Loaded with the model: the worker claims jobs before it has to embed anything.
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizer
        self._unknown = tokenizer.token_to_id(unknown)
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._tokenizing = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="encoder")
        self._fingerprint = fingerprint

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def documents(self, texts: Sequence[str]) -> Vectors:
        encoded = self._encoded([self._document(_bounded(text)) for text in texts])
        batches = list(_batches([len(ids) for ids in encoded]))
        embedded = self._pool.map(lambda batch: self._embed([encoded[index] for index in batch]), batches)
        out = np.empty((len(texts), _SIZE), dtype=np.float32)
        for batch, vectors in zip(batches, embedded, strict=True):
            out[batch] = vectors
        return out

    @property
    def most_tokens(self) -> int:
        return MAX_TOKENS

    def tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, as far as the model reads it."""
        return [max(len(ids) - 2, 0) for ids in self._encoded([_bounded(text) for text in texts])]

    def query(self, text: str) -> Vectors | None:
        """Return None for emoji and scripts outside its vocabulary, which it would all embed as the same unknown
        word.
        """
        if not self._knows(text):
            return None
        return np.asarray(self._embed(self._encoded([self._question(_bounded(text))]))[0], dtype=np.float32)

    def _document(self, text: str) -> str:
        """Return the text as the model expects documents."""
        return text

    def _question(self, text: str) -> str:
        """Return the text as the model expects questions."""
        return text

    def _tokens(self, ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64] | Vectors]:
        """Return the graph's input for the tokens [batch, tokens]."""
        return {"input_ids": ids}

    def _knows(self, text: str) -> bool:
        plain = self._plain(_bounded(text))
        if not plain.strip():
            return False
        with self._tokenizing:
            tokens = self._tokenizer.encode(plain, add_special_tokens=False).ids
        return sum(token != self._unknown for token in tokens) * 2 >= max(len(tokens), 1)

    def _plain(self, text: str) -> str:
        """Return the text as the tokenizer expects it."""
        return text

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text."""
        with self._tokenizing:
            return [item.ids for item in self._tokenizer.encode_batch([self._plain(text) for text in texts])]

    def _embed(self, encoded: Sequence[list[int]]) -> Vectors:
        tokens = np.zeros((len(encoded), max(map(len, encoded))), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(encoded):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        feed = {**self._tokens(tokens), "attention_mask": mask}
        return np.asarray(self._session.run(["embedding"], feed)[0], dtype=np.float32)


def cached_graph(target: Path, build: Callable[[], bytes]) -> str | bytes:
    """Return the graph's file, written once; the graph itself where no file can be written."""
    if target.is_file():
        return str(target)
    graph = build()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(graph)
        Path(name).replace(target)
    except OSError:  # a read-only container: building it again takes half a second
        return graph
    return str(target)


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
    """Cut a text to what the tokens can hold: tokenizing a megabyte for 256 tokens takes seconds."""
    return text[: MAX_TOKENS * 16]
