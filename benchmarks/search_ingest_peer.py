"""fastembed, measured from inside an environment that has it: texts in, seconds and vectors out. Needs nothing of ours.

It gets the same weights, as the same graph: what is compared is how texts are put into batches and onto cores.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from fastembed import TextEmbedding  # type: ignore[import-not-found, unused-ignore]
from fastembed.common.model_description import ModelSource, PoolingType  # type: ignore[import-not-found, unused-ignore]

NAME = "own/minilm"


def main() -> None:
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    TextEmbedding.add_custom_model(
        NAME,
        pooling=PoolingType.DISABLED,
        normalization=False,
        sources=ModelSource(hf=NAME),
        dim=384,
        model_file="model.onnx",
    )
    model = TextEmbedding(NAME, specific_model_path=str(folder), threads=threads)
    out = {}
    for name, texts in json.loads((folder / "texts.json").read_text()).items():
        list(model.embed(texts[:16]))
        times = {}
        for batch in (256, 16, 4):  # 256 is its default
            began = time.perf_counter()
            vectors = list(model.embed(texts, batch_size=batch))
            times[str(batch)] = time.perf_counter() - began
        np.save(folder / f"{name}.npy", np.array(vectors, dtype=np.float32))
        out[name] = times
    print(json.dumps(out))


if __name__ == "__main__":
    main()
