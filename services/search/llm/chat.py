"""Structured calls to the models of one search: never past its deadline, and none after every model has failed.

A model that is late loses that step: one that was being loaded answers the next. Late twice, it is asked no more.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache

from pydantic import BaseModel, JsonValue

from services.search.llm.compact import compacted
from services.search.llm.replies import Shape, parse
from shared.errors import AssayError, JobCancelled, NoProviderConfigured, ProvidersFailed
from shared.jobs.job import Context
from shared.llm.chat import ChatMessage, ChatReply, ChatRequest, Finish, Json, JsonSchema
from shared.loop import BudgetSpent

Variables = Mapping[str, str | int]
_RESERVE = 2.0  # seconds that the work after a reply may need
_UNKNOWN_LATENCY = 2.0  # seconds, of a role that has not been called yet
_MAX_TOKENS = 2048
_MAX_TABLES = 100  #: that a schema names


class Latencies:
    """How long the models of each role took lately, over all jobs of the process."""

    def __init__(self) -> None:
        self._seconds: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def add(self, role: str, seconds: float) -> None:
        with self._lock:
            self._seconds.setdefault(role, deque(maxlen=50)).append(seconds)

    def p95(self, role: str) -> float:
        with self._lock:
            known = sorted(self._seconds.get(role, ()))
        return known[int(len(known) * 0.95)] if known else _UNKNOWN_LATENCY


class StructuredChat:
    """The models as one job sees them: a question and a shape in, an instance of the shape out."""

    def __init__(self, context: Context, latencies: Latencies, deadline: float, most_seconds: float) -> None:
        """``deadline``: of the search, monotonic; ``most_seconds``: for one question."""
        self._context = context
        self._latencies = latencies
        self._deadline = deadline
        self._most_seconds = most_seconds
        self._turn = 0
        self._late = False
        self._tells_all = False  # the warning that no model answers is about every step
        self._left_out: list[str] = []  # roles that were not called, because no model answers
        self.down = False  #: no model answers this job any more
        self.silent = False  #: the latest question got no reply

    def ask(
        self,
        role: str,
        question: Mapping[str, JsonValue],
        shape: type[Shape],
        among: Sequence[str] = (),
        **variables: str | int,
    ) -> Shape | None:
        """Return the role's structured answer; without one, return None and warn why.

        ``among``: what a member ``table`` of the answer may name.

        Raises: JobCancelled.
        """
        if not self.available(role):
            return None
        began = time.monotonic()
        seconds = self._seconds(role)
        reply = None if seconds is None else self._reply(role, question, shape, seconds, variables, among)
        self.silent = reply is None
        if reply is None:
            return None
        self._latencies.add(role, time.monotonic() - began)
        if reply.finish is Finish.REFUSAL:
            self._context.report.warn(f"The model refused to answer ({role}); the search continued without it.")
            return None
        answer = parse(reply.text, shape)
        if answer is None:
            problem = "was cut" if reply.finish is Finish.LENGTH else "could not be read"
            self._context.report.warn(f"The model's answer {problem} ({role}); the search continued without it.")
        return answer

    def available(self, role: str) -> bool:
        """Return whether the role can be called; if not, the step counts as left out."""
        if self.down:
            self._left_out.append(role)
        return not self.down

    def tell_left_out(self) -> None:
        """Warn of the steps that were left out, in their order, because no model had answered an earlier one."""
        if self._left_out and not self._tells_all:
            self._context.report.warn(f"Left out, as no model answered: {', '.join(dict.fromkeys(self._left_out))}.")

    def warn(self, text: str) -> None:
        self._context.report.warn(text)

    def _seconds(self, role: str) -> float | None:
        """Return how long the model may take; None when it would not answer in time."""
        left = self._deadline - time.monotonic()
        usable = left - min(_RESERVE, left * 0.25)
        if usable >= min(self._latencies.p95(role), self._most_seconds):
            return min(usable, self._most_seconds)
        self._context.report.warn(f"The time left was too short to call a model ({role}).")
        return None

    def _reply(
        self,
        role: str,
        question: Mapping[str, JsonValue],
        shape: type[BaseModel],
        seconds: float,
        variables: Variables,
        among: Sequence[str],
    ) -> ChatReply | None:
        deadline = time.monotonic() + seconds
        try:
            self._context.budget.spend_turn()
            render = self._context.prompts.render
            prompt = render(role, **variables)
            self._turn += 1
            content = json.dumps(question, ensure_ascii=False)
            request = ChatRequest(
                role=role,
                messages=(ChatMessage("system", prompt.text), ChatMessage("user", content)),
                schema=JsonSchema(role.replace(".", "_"), _schema(shape, tuple(among))),
                max_tokens=_MAX_TOKENS,
                deadline=deadline,
                prompt=prompt.version,
                turn=self._turn,
                compact=lambda tokens: compacted(
                    lambda shorter: render(role, **shorter).text, question, variables, tokens
                ),
            )
            return self._context.llm.complete(request)
        except BudgetSpent as spent:
            self._give_up(f"No model was called ({role}): the budget of {spent.what} is spent.{spent.why}")
        except NoProviderConfigured:
            self._give_up("No model provider is configured: the search continued without a model.", every_step=True)
        except AssayError as fault:
            if isinstance(fault, JobCancelled) or self._context.cancelled.is_set():
                raise JobCancelled("the search was cancelled") from None
            late = time.monotonic() >= deadline
            limit = f" within {seconds:.1f} s" if late else ""
            why = f" {fault.tried}" if isinstance(fault, ProvidersFailed) else ""
            warning = f"No model answered ({role}: {fault.code}{limit}); the search continued without one.{why}"
            if late and not self._late:
                self._late = True
                self._context.report.warn(warning)
            else:
                self._give_up(warning)
        return None

    def _give_up(self, warning: str, every_step: bool = False) -> None:
        self.down = True
        self._tells_all = every_step
        self._context.report.warn(warning)


@lru_cache(maxsize=256)
def _schema(shape: type[BaseModel], tables: tuple[str, ...]) -> Json:
    """Return the shape's JSON Schema with every property required, as vendors' strict modes demand."""
    schema = shape.model_json_schema(mode="serialization")
    for part in schema.get("$defs", {}).values() if len(tables) <= _MAX_TABLES else ():
        if tables and "table" in part.get("properties", {}):
            part["properties"]["table"] = {"type": "string", "enum": list(tables)}
    return schema
