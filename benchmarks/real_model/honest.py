"""What every job has to keep to, whatever its model wrote: it ends, says why, and claims nothing that is not so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay import Client
from assay._sync.job import Job
from shared.contracts.jobs import JobView

Json = Mapping[str, Any]
_ENDS = {"succeeded", "failed"}
#: Codes that say what a model, its server or the caller's budget did; ``internal_error`` is none of them.
_ERRORS = {"budget_spent", "context_too_long", "providers_failed", "no_provider_configured"}
_CALLS = {
    "ok",
    "skipped",
    "starting",
    "overloaded",
    "connection_failed",
    "stream_cut",
    "stale_connection",
    "timed_out",
    "busy",
    "abandoned",
    "context_too_long",
    "empty_answer",
    "only_thought",
    "schema_unsupported",
    "images_unsupported",
}


class Dishonest(Exception):
    """A job did not keep to it."""


def errors_in(result: Json) -> list[str]:
    """Codes of what went wrong in a document's blocks."""
    failed = [block for block in result["blocks"] if block["status"] == "error"]
    return [str(message["code"]) for block in failed for message in block["messages"]]


def checked(client: Client, job: Job[Any], seconds: float, lies: Callable[[Json], str | None] | None = None) -> JobView:
    """Return the job after its end. Raises: Dishonest, JobTimeout."""
    view = job.wait(seconds)
    if view.state.value not in _ENDS:
        raise Dishonest(f"{view.kind} ended as {view.state.value}")
    if view.error is not None and view.error.code not in _ERRORS:
        raise Dishonest(f"{view.kind} ended with {view.error.code}: {view.error.detail}")
    for call in job.llm_calls().items:
        if call.outcome not in _CALLS:
            raise Dishonest(f"{view.kind}: a call ended as {call.outcome}: {call.detail}")
        if call.outcome == "ok" and (call.finish is None or not call.input_tokens or call.output_tokens is None):
            raise Dishonest(f"{view.kind}: an answer without its finish or its tokens")
    untrue = lies(view.result) if lies is not None and view.result is not None else None
    if untrue is not None:
        raise Dishonest(f"{view.kind}: {untrue}")
    return view


def outcome(view: JobView) -> str:
    """In a word or two: what the result calls itself, or the error's code."""
    if view.error is not None:
        return view.error.code
    result: Json = view.result or {}
    if "blocks" in result:
        return ", ".join(errors_in(result)) or "ok"
    said = result.get("status") or result.get("verdict")
    if said is None and "success" in result:
        said = "changed" if result["success"] else "not changed, and says so"
    return str(said or "result")


def transform_lies(result: Json) -> str | None:
    if result["status"] in ("done", "best_so_far") and not (result["code"] and result["table"]):
        return f"{result['status']} without code and table"
    if result["status"] == "question" and not result["question"]:
        return "a question that asks nothing"
    return None


def document_lies(result: Json) -> str | None:
    for block in result["blocks"]:
        if block["kind"] == "instruction" and block["status"] == "ok" and ":++" not in result["markdown"]:
            return "an instruction is ok, and its answer is not in the document"
        if "</data" in result["markdown"] or "<think" in result["markdown"]:
            return "marks of prompts are in the document"
    return None


def flow_lies(result: Json) -> str | None:
    if result["success"] and not any(done["success"] for done in result["execution"]):
        return "success without an operation that succeeded"
    return None


def search_lies(result: Json) -> str | None:
    if result["verdict"] == "found" and not any(result["hits"].values()):
        return "found without a hit"
    return None


def detect_lies(result: Json) -> str | None:
    unproven = [each["id"] for service in result["services"] for each in service["candidates"] if not each["evidence"]]
    return f"facts without evidence: {unproven}" if unproven else None
