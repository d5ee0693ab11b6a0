"""A BERT sentence encoder as an ONNX graph, built from its weights: tokens in, unit vectors out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

_OPSET, _IR_VERSION = 17, 8  # of ONNX; the first with LayerNormalization
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class BertShape:
    """The sizes of the model, as its ``config.json`` gives them."""

    hidden: int
    layers: int
    heads: int
    epsilon: float
    words_given: bool = False  #: whether the caller looks up the vectors of the word pieces, in ``word_vectors``


@dataclass
class _Builder:
    weights: Weights
    quantized: bool
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    count: int = 0

    def op(self, kind: str, *inputs: str, **attributes: float | list[int]) -> str:
        self.count += 1
        out = f"t{self.count}"
        options: dict[str, Any] = dict(attributes)
        self.nodes.append(helper.make_node(kind, inputs, [out], **options))
        return out

    def constant(self, value: NDArray[Any]) -> str:
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name])

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def scalar(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def linear(self, x: str, *names: str) -> str:
        """``x @ W + b``; several names make one wider layer."""
        matrix = np.concatenate([self.weights[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])
        product = self._int8_product(x, matrix) if self.quantized else self.op("MatMul", x, self.constant(matrix))
        return self.op("Add", product, self.constant(bias))

    def _int8_product(self, x: str, matrix: NDArray[np.float32]) -> str:
        """Activations are quantized as they come, weights once and per column."""
        scale = np.maximum(np.abs(matrix).max(axis=0), 1e-8) / 127
        codes = np.rint(matrix / scale).astype(np.int8)
        self.count += 1
        names = [f"q{self.count}", f"s{self.count}", f"z{self.count}"]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], names))
        whole = self.op("MatMulInteger", names[0], self.constant(codes), names[2])
        factor = self.op("Mul", names[1], self.constant(scale.astype(np.float32)))
        return self.op("Mul", self.op("Cast", whole, to=TensorProto.FLOAT), factor)

    def norm(self, x: str, name: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(weights: Weights, shape: BertShape, quantized: bool = False) -> bytes:
    """Return the model: the tokens and ``attention_mask`` [batch, tokens] in, ``embedding`` [batch, hidden] out.

    The tokens are ``input_ids`` [batch, tokens], or ``word_vectors`` [batch, tokens, hidden].
    """
    graph = _Builder(weights, quantized)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    wide = graph.op("Unsqueeze", mask, graph.ints(1, 2))
    # Padding gets a score so low that softmax gives it nothing.
    bias = graph.op("Mul", graph.op("Sub", graph.scalar(1.0), wide), graph.scalar(-10000.0))
    x = _embeddings(graph, shape)
    for layer in range(shape.layers):
        x = _layer(graph, x, bias, f"encoder.layer.{layer}", shape)
    _pool(graph, x, mask)
    tokens = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info("word_vectors", TensorProto.FLOAT, [*tokens, shape.hidden])
        if shape.words_given
        else helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
    ]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", shape.hidden])
    built = helper.make_graph(graph.nodes, "sentence-encoder", inputs, [output], graph.constants)
    opset = helper.make_opsetid("", _OPSET)
    return bytes(helper.make_model(built, opset_imports=[opset], ir_version=_IR_VERSION).SerializeToString())


def _embeddings(graph: _Builder, shape: BertShape) -> str:
    words = (
        "word_vectors"
        if shape.words_given
        else graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    )
    length = graph.op("Gather", graph.op("Shape", words), graph.constant(np.array(1, dtype=np.int64)))
    zero, one = (graph.constant(np.array(value, dtype=np.int64)) for value in (0, 1))
    order = graph.op("Range", zero, length, one)
    places = graph.op("Gather", graph.weight("embeddings.position_embeddings.weight"), order)
    kind = graph.constant(graph.weights["embeddings.token_type_embeddings.weight"][0])
    total = graph.op("Add", graph.op("Add", words, places), kind)
    return graph.norm(total, "embeddings.LayerNorm", shape.epsilon)


def _layer(graph: _Builder, x: str, bias: str, name: str, shape: BertShape) -> str:
    inside = f"{name}.attention.self"
    joined = graph.linear(x, f"{inside}.query", f"{inside}.key", f"{inside}.value")
    size = shape.hidden // shape.heads
    split = graph.op("Reshape", joined, graph.ints(0, 0, 3, shape.heads, size))
    parts = graph.op("Transpose", split, perm=[2, 0, 3, 1, 4])
    query, key, value = (
        graph.op("Gather", parts, graph.constant(np.array(index, dtype=np.int64)), axis=0) for index in range(3)
    )
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    scaled = graph.op("Mul", scores, graph.scalar(1 / math.sqrt(size)))
    shares = graph.op("Softmax", graph.op("Add", scaled, bias), axis=-1)
    seen = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    merged = graph.op("Reshape", seen, graph.ints(0, 0, shape.hidden))
    attended = graph.linear(merged, f"{name}.attention.output.dense")
    x = graph.norm(graph.op("Add", attended, x), f"{name}.attention.output.LayerNorm", shape.epsilon)
    inner = _gelu(graph, graph.linear(x, f"{name}.intermediate.dense"))
    outer = graph.linear(inner, f"{name}.output.dense")
    return graph.norm(graph.op("Add", outer, x), f"{name}.output.LayerNorm", shape.epsilon)


def _gelu(graph: _Builder, x: str) -> str:
    # In exactly this form, because the runtime recognizes it and runs it as one kernel.
    erf = graph.op("Erf", graph.op("Div", x, graph.scalar(math.sqrt(2))))
    return graph.op("Mul", graph.op("Mul", x, graph.op("Add", erf, graph.scalar(1.0))), graph.scalar(0.5))


def _pool(graph: _Builder, x: str, mask: str) -> None:
    """Add the mean of the real tokens, normalized to length 1."""
    weight = graph.op("Unsqueeze", mask, graph.ints(2))
    total = graph.op("ReduceSum", graph.op("Mul", x, weight), graph.ints(1), keepdims=0)
    count = graph.op("ReduceSum", weight, graph.ints(1), keepdims=0)
    mean = graph.op("Div", total, graph.op("Max", count, graph.scalar(1e-9)))
    length = graph.op("ReduceL2", mean, axes=[1], keepdims=1)
    graph.nodes.append(helper.make_node("Div", [mean, length], ["embedding"]))
