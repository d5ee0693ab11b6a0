"""The error of a request that no provider answered: it names every attempt."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from shared.errors import ContextTooLong, ProvidersFailed
from shared.llm.chat import ProviderAttempt
from shared.llm.faults import PromptTooLong


def no_answer(made: Sequence[ProviderAttempt], overflows: Sequence[PromptTooLong]) -> ProvidersFailed:
    attempts: list[JsonValue] = [
        {
            "provider": attempt.link.provider,
            "model": attempt.link.model,
            "outcome": attempt.outcome,
            "http_status": attempt.http_status,
            "detail": attempt.detail,
            "seconds": round(attempt.seconds, 3),
        }
        for attempt in made
    ]
    if not attempts:
        return ProvidersFailed("No time was left to ask a model.", attempts=attempts)
    tried = {(a.link.provider, a.link.model, a.outcome): a for a in made}
    named = "; ".join(
        f"{who} ({model}): {outcome} after {last.seconds:.1f} s, {last.detail}"
        for (who, model, outcome), last in tried.items()
    )
    if overflows:
        largest = max(overflows, key=lambda fault: fault.window or 0)
        told = {"window": largest.window, "prompt_tokens": largest.prompt}
        return ContextTooLong(f"The prompt is too long. {named}", attempts=attempts, **told)
    return ProvidersFailed(f"No model provider answered. {named}", attempts=attempts)
