"""Messages and notes of the original front end: a message becomes a job, and the response waits for its end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import orjson
from fastapi import Request, Response
from sqlalchemy import RowMapping

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.flows.compatibility import Sent, add_route, compatibility_routes, content, find_main, main_flow
from services.gateway.flows.service import FlowService, Service
from services.gateway.http.auth import Caller
from services.gateway.http.responses import Json
from services.gateway.http.rules import rules
from services.gateway.jobs.submit import accept, new_id, row_of
from services.gateway.streams import waits
from shared import conversations
from shared.contracts.jobs import JobState
from shared.errors import AssayError
from shared.flows import statements
from shared.flows.store import Flow
from shared.kinds import KINDS
from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.json_text import AnswerUnreadable, parse
from shared.llm.ledger import Owner
from shared.llm.tagged import parse_tagged
from shared.llm.vendors.table import key_variables
from shared.loop import Budget, BudgetSpent

router = compatibility_routes()
compatible = partial(add_route, router, flow=False)

_WAIT_SECONDS = 180.0
_FAILED = "Failed to process message"
_NO_CALLS = "No tool calls generated"
_DISABLED = "LLM disabled: missing API keys"
_NOT_CONFIGURED = "LLM is not configured. Set {} and start again; the diagram can still be edited by hand."
_LONGEST = 50_000
_BULLETS, _BULLET = 500, 2_000


def _hold_again(request: Request, replayed: Response) -> None:
    """The kept answer of a repeated request names the job; this one waits for its end, too, and answers the same."""
    if replayed.status_code == 202:
        _hold(request, orjson.loads(replayed.body)["jobId"])


@compatible("POST", "/conversation/message", _FAILED)
@rules(on_replay=_hold_again)
async def converse(request: Request, service: Service, body: Sent = None) -> Response:
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip() or len(message) > _LONGEST:
        return Json({"error": "Message is required and must be a string"}, 400)
    flow = await main_flow(service)
    if not await service.deps.llm.configured("flows.edit"):
        advice = _NOT_CONFIGURED.format(key_variables())
        disabled = {"success": False, "thinking": _DISABLED, "response": advice, "iterations": 0}
        return Json({**disabled, "updatedFlow": content(flow)})
    job_id = await _submit(request, service, flow, message)
    _hold(request, job_id)
    return Json({"success": False, "thinking": "", "response": "", "iterations": 0, "jobId": job_id}, 202)


def _hold(request: Request, job_id: str) -> None:
    """Let the request be answered by the job's result."""
    deps = cast(Dependencies, request.app.state.dependencies)
    tenant = cast(Caller, request.state.caller).tenant

    async def held(response: Response) -> Response:
        job = await waits.finished(deps, tenant, job_id, _WAIT_SECONDS)
        # A job that takes longer goes on; the conversation will show its answer.
        answer = Json({"error": _FAILED}, 500) if job is None else _answer(job)
        if "idempotency-replayed" in response.headers:
            answer.headers["Idempotency-Replayed"] = "true"
        return answer

    cast(UnitOfWork, request.state.unit).hold = held


async def _submit(request: Request, service: FlowService, flow: Flow, message: str) -> str:
    """The id of the flow job, in the conversation of these routes."""
    conversation = flow.conversation_id or new_id()
    if flow.conversation_id is None:
        await service.db.execute(statements.converse(flow.id, conversation))
    given = {"flow_id": flow.id, "message": message}
    submit = KINDS["flow"].request.model_validate({"kind": "flow", "input": given, "conversation_id": conversation})
    await service.deps.admission.admit_tokens(service.caller.tenant)
    row = row_of(request, service.caller, submit, given)
    view = await accept(service.deps, service.db, service.unit, row)
    return str(view["id"])


def _answer(job: RowMapping) -> Response:
    """The job's result in the shape that the original front end reads."""
    result = job["result"]
    if job["state"] != JobState.SUCCEEDED or result is None:
        return Json({"error": _FAILED}, 500)
    base = {"success": result["success"], "thinking": result["thinking"]}
    if result["parse_error"] is not None:
        failed = {"parseError": result["parse_error"], "response": result["response"]}
        return Json({**base, **failed, "iterations": result["iterations"]})
    if result["response"] == _NO_CALLS and not result["tool_calls"]:
        return Json({**base, "response": _NO_CALLS, "iterations": result["iterations"]})
    done = {
        **base,
        "toolCalls": result["tool_calls"],
        "execution": [_execution(entry) for entry in result["execution"]],
        "updatedFlow": {name: result["flow"][name] for name in ("nodes", "edges", "settings")},
        "iterations": result["iterations"],
    }
    if not result["success"]:
        done |= {"errors": result["errors"], "message": f"Failed after {result['iterations']} attempts"}
    return Json(done)


def _execution(entry: Mapping[str, Any]) -> dict[str, object]:
    names = {"node_id": "nodeId", "edge_id": "edgeId", "group_id": "groupId", "error": "error"}
    return {"success": entry["success"], **{new: entry[old] for old, new in names.items() if entry[old] is not None}}


@compatible("GET", "/conversation/debug", "Failed to load conversation")
async def debug_conversation(service: Service) -> Response:
    messages = await _history(service, await find_main(service))
    times = [entry["timestamp"] for entry in messages]
    ends = {"oldestTimestamp": times[0] if times else None, "newestTimestamp": times[-1] if times else None}
    return Json({"history": messages, "messageCount": len(messages), **ends})


@compatible("DELETE", "/conversation/history", "Failed to clear conversation")
async def clear_conversation(service: Service) -> Response:
    flow = await find_main(service)
    if flow is not None and flow.conversation_id is not None:
        await service.db.execute(conversations.forget(service.caller.tenant, flow.conversation_id))
    return Json({"success": True})


@compatible("GET", "/notes", "Failed to load notes")
async def load_notes(service: Service) -> Response:
    flow = await find_main(service)
    return Json({"bullets": await _bullets(service, flow), "conversationHistory": await _history(service, flow)})


@compatible("POST", "/notes", "Failed to process notes")
async def add_notes(service: Service, body: Sent = None) -> Response:
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip() or len(message) > _LONGEST:
        return Json({"success": False, "error": "Message is required and must be a string"}, 400)
    bullets = await _bullets(service, await find_main(service))
    thinking, new = await _noted(service, bullets, message)
    return await _keep(service, [*bullets, *new][-_BULLETS:], newBullets=new, thinking=thinking)


@compatible("PUT", "/notes", "Failed to save notes")
async def save_notes(service: Service, body: Sent = None) -> Response:
    given = body.get("bullets") if isinstance(body, dict) else None
    bullets = [entry for entry in given if isinstance(entry, str)] if isinstance(given, list) else []
    if not isinstance(given, list) or len(bullets) != len(given) or len(bullets) > _BULLETS:
        return Json({"success": False, "error": "Bullets must be an array of strings"}, 400)
    return await _keep(service, [bullet[:_BULLET] for bullet in bullets])


async def _keep(service: FlowService, bullets: Sequence[str], **more: object) -> Response:
    flow = await main_flow(service)
    await service.db.execute(statements.note(flow.id, list(bullets)))
    return Json({"success": True, "bullets": bullets, **more})


async def _bullets(service: FlowService, flow: Flow | None) -> list[str]:
    if flow is None:
        return []
    kept = (await service.db.execute(statements.notes_of(flow.id))).scalar_one_or_none()
    return list(kept or [])


async def _history(service: FlowService, flow: Flow | None) -> list[dict[str, Any]]:
    """The conversation, the oldest message first."""
    if flow is None or flow.conversation_id is None:
        return []
    statement = conversations.messages_of(service.caller.tenant, flow.conversation_id)
    rows = (await service.db.execute(statement)).mappings().all()
    return [
        {
            "role": row["role"],
            "content": row["content"],
            "toolCalls": row["tool_calls"] or None,
            "timestamp": row["time"],
        }
        for row in reversed(rows)
    ]


async def _noted(service: FlowService, bullets: Sequence[str], message: str) -> tuple[str, list[str]]:
    """Thinking and new notes from a model; without one, or without a readable answer, the lines of the message."""
    lines = [line.strip(" -*•\t")[:_BULLET] for line in message.splitlines() if line.strip(" -*•\t")]
    if not await service.deps.llm.configured("flows.edit"):
        return _DISABLED, lines
    layer = service.deps.llm.layer

    def ask() -> str:
        prompt = layer.prompts.render("flows.notes", bullets="\n".join(f"- {b}" for b in bullets), message=message)
        question = (ChatMessage("user", prompt.text),)
        deadline = time.monotonic() + 60
        request = ChatRequest("flows.edit", question, max_tokens=2048, deadline=deadline, prompt=prompt.version)
        return layer.for_job(Owner(service.caller.tenant, None), Budget(seconds=60)).complete(request).text

    try:
        text = await service.deps.llm.ask(ask)
    except (AssayError, BudgetSpent):
        return _FAILED, lines
    thinking = parse_tagged(text).thinking
    response = text.partition("<response>")[2].partition("</response>")[0]
    try:
        parsed = parse(response).value
    except AnswerUnreadable:
        return thinking, lines
    new = [entry[:_BULLET] for entry in parsed if isinstance(entry, str)] if isinstance(parsed, list) else lines
    return thinking, new
