"""Messages of the original front end: a message becomes a job, and the response waits for its end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import orjson
from fastapi import Request, Response

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.flows.compatibility import Sent, add_route, compatibility_routes, content, find_main, main_flow
from services.gateway.flows.service import FlowService, Service, etag
from services.gateway.http.auth import Caller
from services.gateway.http.responses import Json, JsonText
from services.gateway.http.rules import EndpointRules
from services.gateway.jobs import views
from services.gateway.jobs.submit import accept, new_id, row_of
from services.gateway.streams import waits
from shared import conversations
from shared.contracts.jobs import JobState
from shared.flows import statements
from shared.flows.store import Flow
from shared.kinds import KINDS
from shared.llm.vendors.table import key_variables

router = compatibility_routes()
compatible = partial(add_route, router, flow=False)

_WAIT_SECONDS = 180.0
_FAILED = "Failed to process message"
_NO_CALLS = "No tool calls generated"
DISABLED = "LLM disabled: missing API keys"
_NOT_CONFIGURED = "LLM is not configured. Set {} and start again; the diagram can still be edited by hand."
MAX_CHARACTERS = 50_000  #: of a message


def not_configured() -> str:
    return _NOT_CONFIGURED.format(key_variables())


def _hold_again(request: Request, replayed: Response) -> None:
    """Wait for the job of a repeated request, whose stored response names it, and answer the same."""
    if replayed.status_code == 202:
        _hold(request, orjson.loads(replayed.body)["jobId"])


@compatible("POST", "/conversation/message", _FAILED)
@EndpointRules(on_replay=_hold_again)
async def converse(request: Request, service: Service, body: Sent = None) -> Response:
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip() or len(message) > MAX_CHARACTERS:
        return Json({"error": "Message is required and must be a string"}, 400)
    flow = await main_flow(service)
    if not await service.deps.llm.configured("flows.edit"):
        disabled = {"success": False, "thinking": DISABLED, "response": not_configured(), "iterations": 0}
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
        # A job that takes longer continues; the conversation will show its answer.
        answer = Json({"error": _FAILED}, 500) if job is None else _answer(job)
        if "idempotency-replayed" in response.headers:
            answer.headers["Idempotency-Replayed"] = "true"
        return answer

    cast(UnitOfWork, request.state.unit).hold = held


async def _submit(request: Request, service: FlowService, flow: Flow, message: str) -> str:
    """Submit the flow job in the conversation of these routes and return its id."""
    conversation = flow.conversation_id or new_id()
    if flow.conversation_id is None:
        await service.db.execute(statements.converse(flow.key, conversation))
    given = {"flow_id": flow.id, "message": message}
    submit = KINDS["flow"].request.model_validate({"kind": "flow", "input": given, "conversation_id": conversation})
    await service.deps.quotas.admit_tokens(service.caller.tenant)
    row = row_of(request, service.caller, submit, given)
    view = await accept(service.deps, service.db, service.unit, row)
    return str(view["id"])


def _answer(job: views.Row) -> Response:
    """Return the job's result in the shape that the original front end reads."""
    result = job["result"].read() if isinstance(job["result"], JsonText) else job["result"]
    if job["state"] != JobState.SUCCEEDED or result is None:
        return Json({"error": _FAILED}, 500)
    base = {"success": result["success"], "thinking": result["thinking"]}
    if result["parse_error"] is not None:
        failed = {"parseError": result["parse_error"], "response": result["response"]}
        return Json({**base, **failed, "iterations": result["iterations"]})
    if result["response"] == _NO_CALLS and not result["tool_calls"]:
        return Json({**base, "response": _NO_CALLS, "iterations": result["iterations"]})
    names = [call["name"] for call in result["tool_calls"]]
    execution = [_execution(name, entry) for name, entry in zip(names, result["execution"], strict=True)]
    done = {
        **base,
        "toolCalls": result["tool_calls"],
        "execution": execution,
        "updatedFlow": {name: result["flow"][name] for name in ("nodes", "edges", "settings")},
        "iterations": result["iterations"],
    }
    if not result["success"]:
        errors = [entry for entry in execution if not entry["success"]]
        done |= {"errors": errors, "message": f"Failed after {result['iterations']} attempts"}
    return Json(done, headers={"ETag": etag(result["version"])})


def _execution(tool: str, entry: Mapping[str, Any]) -> dict[str, object]:
    """Return the entry as the page reads it: a layout is marked, because the page then animates and refits."""
    names = {"node_id": "nodeId", "edge_id": "edgeId", "group_id": "groupId", "error": "error"}
    body = {"success": entry["success"], **{new: entry[old] for old, new in names.items() if entry[old] is not None}}
    if tool == "autoLayout":
        body |= {"tool": tool, **({"didChange": False} if entry["did_change"] is False else {})}
    return body


@compatible("GET", "/conversation/debug", "Failed to load conversation")
async def debug_conversation(service: Service) -> Response:
    flow = await find_main(service)
    messages = await history_of(service, flow.conversation_id if flow else None)
    times = [entry["timestamp"] for entry in messages]
    ends = {"oldestTimestamp": times[0] if times else None, "newestTimestamp": times[-1] if times else None}
    return Json({"history": messages, "messageCount": len(messages), **ends})


@compatible("DELETE", "/conversation/history", "Failed to clear conversation")
async def clear_conversation(service: Service) -> Response:
    flow = await find_main(service)
    if flow is not None and flow.conversation_id is not None:
        await service.db.execute(conversations.forget(service.caller.tenant, flow.conversation_id))
    return Json({"success": True})


async def history_of(service: FlowService, conversation: str | None) -> list[dict[str, Any]]:
    """Return the conversation, the oldest message first."""
    if conversation is None:
        return []
    statement = conversations.messages_of(service.caller.tenant, conversation)
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
