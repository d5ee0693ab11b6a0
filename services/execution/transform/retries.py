"""What to send after an answer that failed before: a different kind of question each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.llm.chat import ChainLink, ChatRequest

#: Maximum repeated answers in a row: a model that repeats itself more often will not change its answer.
MAX_REPEATS = 6
#: Maximum answers of a small model in a row that fail, alike or not; more of them gave no right one.
MAX_SHORT_FAILURES = 3
_TEMPERATURES = (0.7, 0.9, 1.1, 1.3)


class Retry(StrEnum):
    """A kind of question."""

    ALONE = "alone"  #: the task, the code, and the line that fails; nothing else of the exchange
    OTHER_PROMPT = "other_prompt"  #: the task alone, briefly and after examples
    WARMER = "warmer"  #: the task alone, at a higher temperature
    OTHER_MODEL = "other_model"  #: the task alone, to the next model of the chain


@dataclass(frozen=True)
class Plan:
    """The questions after repeated answers, in their order."""

    tools: bool = False  #: the exchange continues, because tool results must stay with their calls
    short: bool = False  #: the prompt is brief already; each question after a failure is the task alone
    others: Sequence[ChainLink] = ()  #: the models behind the first

    def kind(self, repeats: int) -> Retry:
        """Return what to send after ``repeats`` repeated answers in a row, counted from 1."""
        order = [] if self.tools or self.short else [Retry.ALONE, Retry.OTHER_PROMPT]
        order += [Retry.WARMER, *([Retry.OTHER_MODEL] if self.others else [])]
        return order[repeats - 1] if repeats <= len(order) else Retry.WARMER

    def applied(self, request: ChatRequest, repeats: int) -> ChatRequest:
        """Return the request as its kind requires: with another temperature and seed, or for another model."""
        match self.kind(repeats):
            case Retry.WARMER:
                temperature = _TEMPERATURES[min(repeats, len(_TEMPERATURES)) - 1]
                sampling = {**(request.parameters or {}), "temperature": temperature, "seed": repeats}
                return replace(request, parameters=sampling)
            case Retry.OTHER_MODEL:
                other = self.others[0]
                return replace(request, selector=(f"{other.provider}/{other.model}",))
            case _:
                return request
