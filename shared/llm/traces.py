"""Calls to models as spans, by the conventions of OpenTelemetry for generative AI; never a prompt or an answer.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
"""

from __future__ import annotations

from shared import tracing
from shared.llm.chat import ProviderAttempt


def record(parent: tracing.Parent, attempt: ProviderAttempt) -> None:
    """Record one attempt that has just ended."""
    failed = None if attempt.outcome == "ok" else attempt.outcome
    parent.ended(f"chat {attempt.link.model}", "client", attempt.seconds, _attributes(attempt), failed)


def _attributes(attempt: ProviderAttempt) -> dict[str, tracing.Value]:
    request, reply = attempt.request, attempt.reply
    usage = reply.usage if reply is not None else attempt.usage
    finish = reply.finish if reply is not None else attempt.finish
    known: dict[str, tracing.Value | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": attempt.link.provider,
        "gen_ai.request.model": attempt.link.model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.response.model": None if reply is None else reply.model,
        "gen_ai.response.finish_reasons": None if finish is None else [str(finish)],
        "gen_ai.usage.input_tokens": None if usage is None else usage.input,
        "gen_ai.usage.output_tokens": None if usage is None else usage.output,
        "http.response.status_code": attempt.http_status,
        "assay.role": request.role,
        "assay.turn": request.turn,
        "assay.attempt.reason": attempt.reason,
        "assay.attempt.first_token_seconds": attempt.first_token,
        "assay.attempt.queued_seconds": attempt.queued,
    }
    return {name: value for name, value in known.items() if value is not None}
