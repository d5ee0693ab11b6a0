"""Texts embedded a second, compared with fastembed on the same weights and threads; and what int8 costs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.golden import corpus
from benchmarks.peer import peer_python
from benchmarks.search_service import CACHE, model
from benchmarks.table import Line
from services.search.embed.encoder import MAX_TOKENS
from services.search.embed.minilm import MiniLm, weights_folder

PEER = ("fastembed==0.9.1",)
_THREADS = 2
_ROUNDS = 2  # ours before and after the peer, so that a change of the machine's load shows in both


def lines() -> list[Line]:
    texts = _texts()
    exact, coarse = model(threads=_THREADS), model(threads=_THREADS, int8=True)
    seconds = {"fp32": _measured(exact, texts), "int8": _measured(coarse, texts)}
    peer = _peer(texts, exact)
    again = {"fp32": _measured(exact, texts), "int8": _measured(coarse, texts)}
    out = []
    for name, said in texts.items():
        for kind, first in seconds.items():
            rate = len(said) / min(first[name], again[kind][name])
            what = f"{name}, {len(said)} texts, {kind}, {_THREADS} threads"
            out.append(
                _beside(what, rate, {batch: len(said) / took for batch, took in (peer or {}).get(name, {}).items()})
            )
    return out


def _texts() -> Mapping[str, Sequence[str]]:
    said = [str(record["text"]) for record in corpus.rules()]
    return {
        "long": [text for text in said if len(text) > 900][:128],
        "mixed": said[:256],
        "titles": [str(record["name"]) for record in corpus.rules()],
    }


def _measured(embedder: MiniLm, texts: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
    """Seconds, the least of several rounds."""
    out = {}
    for name, said in texts.items():
        embedder.documents(said[:16])
        times = []
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            embedder.documents(said)
            times.append(time.perf_counter() - began)
        out[name] = min(times)
    return out


def _peer(texts: Mapping[str, Sequence[str]], ours: MiniLm) -> Mapping[str, Mapping[str, float]] | None:
    """Seconds by batch size; None where the peer cannot be installed. Its vectors have to be ours."""
    python, weights = peer_python(PEER), weights_folder()
    if python is None or weights is None:
        return None
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        for file in ("tokenizer.json", "special_tokens_map.json", "config.json"):
            shutil.copy(weights / file, folder)
        config = json.loads((weights / "tokenizer_config.json").read_text())
        cut = {**config, "model_max_length": MAX_TOKENS, "max_length": MAX_TOKENS}
        (folder / "tokenizer_config.json").write_text(json.dumps(cut))
        shutil.copy(next(CACHE.glob("minilm-fp32-*.onnx")), folder / "model.onnx")
        (folder / "texts.json").write_text(json.dumps(texts))
        script = Path(__file__).with_name("search_ingest_peer.py")
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": name}
        command = [str(python), "-I", str(script), name, str(_THREADS)]
        rounds = []
        for _ in range(_ROUNDS):
            made = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment, timeout=600)
            rounds.append(json.loads(made.stdout))
        for kind, said in texts.items():
            theirs = np.load(folder / f"{kind}.npy")
            assert float((ours.documents(said) * theirs).sum(axis=1).min()) > 0.99, "the peer embeds something else"
    return {kind: {batch: min(each[kind][batch] for each in rounds) for batch in rounds[0][kind]} for kind in texts}


def _beside(what: str, rate: float, peers: Mapping[str, float]) -> Line:
    if not peers:
        return Line(what, f"{rate:.0f}/s", "fastembed cannot be installed", 1.0, "", True)
    rates = ", ".join(f"{other:.0f}/s by {batch}" for batch, other in peers.items())
    ratio = rate / max(peers.values())
    return Line(what, f"{rate:.0f}/s", rates, ratio, ">= 1.0x", ratio >= 1.0)
