"""The job kind ``translate``, for tests: a plugin for ``ASSAY_PLUGINS``, whose service is ``python -m`` this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from shared.contracts.common import Answer, Request
from shared.kinds import KINDS, Example, KindSpec, ModelRole


class TranslateInput(Request):
    text: Annotated[str, Field(min_length=1)]
    into: str = "fr"


class TranslateResult(Answer):
    text: str


SPEC = KindSpec(
    name="translate",
    input=TranslateInput,
    result=TranslateResult,
    service="translation",
    command="translate",
    title=("text",),
    example=Example("Translate a sentence", {"text": "Good morning"}),
    roles=(ModelRole("translation.translate", required=True),),
    prompts=Path(__file__).with_name("prompts"),
)


def register() -> None:
    KINDS.register(SPEC)
