"""How a model is best prompted: in full, or briefly with a few solved examples, as small models need it."""

from __future__ import annotations

import re

from shared.llm.catalog import shown_model, table
from shared.llm.chat import ChainLink, Prompting
from shared.llm.wires.endpoint import Endpoint

#: Billions of parameters; smaller models copy from long instructions instead of following them.
SMALL = 4.0
_SIZE = re.compile(r"(?<![a-z\d.])(?:(\d+)x)?(\d+(?:\.\d+)?)\s?([bm])(?![a-z])", re.IGNORECASE)


def billions(model: str) -> float | None:
    """Return the size that a model's name gives, in billions of parameters: ``qwen2.5-coder:0.5b``, ``8x7B``."""
    sizes = [
        float(count) * int(experts or 1) / (1 if unit in "bB" else 1000)
        for experts, count, unit in _SIZE.findall(shown_model(model))
    ]
    return max(sizes) if sizes else None


def prompting_of(link: ChainLink, endpoint: Endpoint | None) -> Prompting:
    """Return what the chain says, else a default by the model's size.

    A model of an operator's own server whose size its name does not give counts as small.
    """
    if link.prompting is not None:
        return link.prompting
    size = billions(link.model)
    if size is not None:
        return "examples" if size < SMALL else "plain"
    own = endpoint is not None and endpoint.own_server
    return "examples" if own and not _of_a_vendor(link.model) else "plain"


def _of_a_vendor(model: str) -> bool:
    """Return whether a vendor serves a model of this name, which another server may only pass on."""
    rows = table()
    return "scripted" in model or model in {row.model for row in rows.prices} | {row.model for row in rows.retirements}
