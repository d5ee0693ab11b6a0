"""Asking a model within a search: one question at a time, never past the deadline, and never again once it is down."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from services.search.structured import parse
from shared.errors import AssayError, JobCancelled, NoProviderConfigured
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, Json, JsonSchema
from shared.loop import BudgetSpent

Variables = Mapping[str, str | int]
Shape = TypeVar("Shape", bound=BaseModel)
_RESERVE = 2.0  # seconds that the work after a reply may need
_FIRST_GUESS = 2.0  # of a role that was never asked
_MOST_TOKENS = 2048


class Pace:
    """How long each role's models took lately, over all jobs of the process."""

    def __init__(self) -> None:
        self._seconds: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def add(self, role: str, seconds: float) -> None:
        with self._lock:
            self._seconds.setdefault(role, deque(maxlen=50)).append(seconds)

    def p95(self, role: str) -> float:
        with self._lock:
            known = sorted(self._seconds.get(role, ()))
        return known[int(len(known) * 0.95)] if known else _FIRST_GUESS


class Asker:
    """The models as one job sees them."""

    def __init__(self, context: Context, pace: Pace, deadline: float, most_seconds: float) -> None:
        self._context = context
        self._pace = pace
        self._deadline = deadline
        self._most_seconds = most_seconds
        self._turn = 0
        self.down = False  #: no model answers this job any more
        self.absent = False  #: there is no model at all

    def ask(
        self, role: str, question: Mapping[str, JsonValue], shape: type[Shape], **variables: str | int
    ) -> Shape | None:
        """The role's structured answer; None when there is none, for whatever reason (the job has a warning then).

        Raises: JobCancelled.
        """
        began = time.monotonic()
        seconds = self._seconds(role)
        if self.down or seconds is None:
            return None
        reply = self._reply(role, question, shape, seconds, variables)
        if reply is None:
            return None
        self._pace.add(role, time.monotonic() - began)
        if reply.finish is Finish.REFUSAL:
            self._context.report.warn(f"The model refused to answer ({role}); the search went on without it.")
            return None
        found = parse(reply.text, shape)
        if found is None:
            self._context.report.warn(f"The model's answer could not be read ({role}); the search went on without it.")
        return found

    def _seconds(self, role: str) -> float | None:
        """How long the model may take; None when it would not answer in time."""
        left = self._deadline - time.monotonic()
        usable = left - min(_RESERVE, left * 0.25)
        if usable >= min(self._pace.p95(role), self._most_seconds):
            return min(usable, self._most_seconds)
        if not self.down:
            self._context.report.warn(f"The time left was too short to ask a model ({role}).")
        return None

    def _reply(
        self, role: str, question: Mapping[str, JsonValue], shape: type[BaseModel], seconds: float, variables: Variables
    ) -> ChatReply | None:
        try:
            self._context.budget.spend_turn()
            prompt = self._context.prompts.render(role, **variables)
            self._turn += 1
            said = json.dumps(question, ensure_ascii=False)
            request = ChatRequest(
                role=role,
                messages=(ChatMessage("system", prompt.text), ChatMessage("user", said)),
                schema=JsonSchema(role.replace(".", "_"), _schema(shape)),
                max_tokens=_MOST_TOKENS,
                deadline=time.monotonic() + seconds,
                prompt=prompt.version,
                turn=self._turn,
            )
            return self._context.llm.complete(request)
        except BudgetSpent as spent:
            self._give_up(f"No model was asked ({role}): the budget of {spent.what} is spent.")
        except NoProviderConfigured:
            self.down = self.absent = True
        except AssayError as fault:
            if isinstance(fault, JobCancelled) or self._context.cancelled.is_set():
                raise JobCancelled("the search was cancelled") from None
            self._give_up(f"No model answered ({role}: {fault.code}); the search went on without one.")
        return None

    def _give_up(self, warning: str) -> None:
        self.down = True
        self._context.report.warn(warning)


@cache
def _schema(shape: type[BaseModel]) -> Json:
    """Every property is required, as vendors' strict modes want it."""
    return shape.model_json_schema(mode="serialization")
