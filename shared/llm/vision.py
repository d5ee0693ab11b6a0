"""Which models do not see: a request with an image is an error there, so it is left out, and whoever asked says so."""

from __future__ import annotations

import re

# By the vendors' own documentation, November 2026. A model that nobody here knows is sent what it is asked about.
_BLIND = re.compile(
    r"gpt-oss|gpt-3\.5|gpt-4($|-\d|-32k)|(^|/)o1-(mini|preview)|(^|/)o3-mini|davinci|babbage|claude-(2|instant)"
    r"|llama-?[23](?!.*(vision|vl))|codellama|mixtral|mistral-(7b|large|nemo|small(?!-3\.[1-9]))|codestral|deepseek|kimi"
    r"|qwen(?!.*(vl|vision|omni))|qwq|gemma-?2|(^|/)phi-?[34](?!.*(vision|multimodal))|command-r|glm(?!.*v)|compound"
    r"|(^|/)scripted",
    re.I,
)


def sees(model: str) -> bool:
    return _BLIND.search(model) is None
