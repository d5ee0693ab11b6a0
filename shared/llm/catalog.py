"""What is known of models: prices by a dated table, when a vendor ends them, and whether they see images."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from shared.llm.chat import TokenUsage

_FILE = Path(__file__).with_name("prices.json")
_MILLION = 1_000_000
# By the vendors' own documentation, November 2026. A model that is not here is sent its images.
_WITHOUT_VISION = re.compile(
    r"gpt-oss|gpt-3\.5|gpt-4($|-\d|-32k)|(^|/)o1-(mini|preview)|(^|/)o3-mini|davinci|babbage|claude-(2|instant)"
    r"|llama-?[23](?!.*(vision|vl))|codellama|mixtral|mistral-(7b|large|nemo|small(?!-3\.[1-9]))|codestral|deepseek|kimi"
    r"|qwen(?!.*(vl|vision|omni))|qwq|gemma-?2|(^|/)phi-?[34](?!.*(vision|multimodal))|command-r|glm(?!.*v)|compound"
    r"|(^|/)scripted",
    re.I,
)


class LongPrompt(BaseModel):
    model_config = ConfigDict(frozen=True)

    tokens: int
    input: float
    output: float


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True)

    provider: str
    model: str
    input: float
    output: float
    cached: float | None = None  #: input that is read from the cache; as other input when it is not known
    written: float | None = None  #: input that is put into the cache
    above: LongPrompt | None = None
    as_of: str  #: date of the last check
    source: str

    def of(self, usage: TokenUsage) -> float | None:
        """Return the cost in US dollars; None when the provider did not report its tokens."""
        if usage.input is None or usage.output is None:
            return None
        tier = self.above if self.above is not None and usage.input > self.above.tokens else self
        cached = min(usage.cached or 0, usage.input)
        cached_price = tier.input if self.cached is None else self.cached
        written = min(usage.written or 0, usage.input - cached)
        written_price = tier.input if self.written is None else self.written
        plain = usage.input - cached - written
        parts = plain * tier.input + cached * cached_price + written * written_price + usage.output * tier.output
        return parts / _MILLION


class Retirement(BaseModel):
    """When a vendor ends a model."""

    model_config = ConfigDict(frozen=True)

    model: str
    provider: str
    date: str | None  #: the day after which it is not served; None when none is announced
    as_of: str  #: date of the last check
    source: str


class PriceTable(BaseModel):
    model_config = ConfigDict(frozen=True)

    prices: tuple[Price, ...]
    retirements: tuple[Retirement, ...]

    def retirement(self, model: str) -> Retirement | None:
        return next((row for row in self.retirements if row.model == model), None)

    def price(self, provider: str, model: str) -> Price | None:
        return next((price for price in self.prices if (price.provider, price.model) == (provider, model)), None)


@cache
def table() -> PriceTable:
    return PriceTable.model_validate_json(_FILE.read_bytes())


def cost(provider: str, model: str, usage: TokenUsage) -> float | None:
    """US dollars, or None when the price or the usage is unknown."""
    price = table().price(provider, model)
    return None if price is None else price.of(usage)


def retirement(model: str) -> str | None:
    """Return the last day on which the vendor serves the model; None when unknown."""
    row = table().retirement(model)
    return None if row is None else row.date


def is_path(model: str) -> bool:
    """Return whether a model's id is a path on its server: ``/models/x.gguf``, ``C:\\models\\x.gguf``."""
    return model.startswith(("/", "./", "~/")) or "\\" in model


def shown_model(model: str) -> str:
    """Return a model's id without its server's folders."""
    return re.split(r"[/\\]", model)[-1] if is_path(model) else model


def sees_images(model: str) -> bool:
    """Return whether the model accepts images; images are left out of requests to models that do not."""
    return _WITHOUT_VISION.search(model) is None
