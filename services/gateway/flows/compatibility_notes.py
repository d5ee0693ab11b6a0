"""Notes of the original front end: bullets that a model takes, with their own conversation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from fastapi import Response
from pydantic import JsonValue

from services.gateway.flows.compatibility import Sent, add_route, compatibility_routes, find_main, main_flow
from services.gateway.flows.compatibility_chat import DISABLED, MAX_CHARACTERS, history_of, not_configured
from services.gateway.flows.service import FlowService, Service
from services.gateway.http.responses import Json
from shared import conversations
from shared.errors import AssayError, QuotaExceeded, TooManyRequests
from shared.flows import statements
from shared.flows.store import Flow
from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.json_text import AnswerUnreadable, parse
from shared.llm.ledger import Owner
from shared.llm.tagged import parse_tagged
from shared.loop import Budget, BudgetSpent

router = compatibility_routes()
compatible = partial(add_route, router, flow=False)

_FAILED = "Failed to process notes"
_BULLETS, _BULLET = 500, 2_000
_SECONDS = 60.0


@compatible("GET", "/notes", "Failed to load notes")
async def load_notes(service: Service) -> Response:
    flow = await find_main(service)
    said = await history_of(service, _conversation(flow) if flow else None)
    return Json({"bullets": await _bullets(service, flow), "conversationHistory": said})


@compatible("POST", "/notes", _FAILED)
async def add_notes(service: Service, body: Sent = None) -> Response:
    message = body.get("message") if isinstance(body, dict) else None
    if not isinstance(message, str) or not message.strip() or len(message) > MAX_CHARACTERS:
        return Json({"success": False, "error": "Message is required and must be a string"}, 400)
    flow = await main_flow(service)
    bullets = await _bullets(service, flow)
    if not await service.deps.llm.configured("flows.edit"):
        reply = {"success": False, "thinking": DISABLED, "error": not_configured(), "response": not_configured()}
        return Json({**reply, "bullets": bullets, "newBullets": []})
    try:
        answer = await _ask(service, flow, bullets, message)
    except (TooManyRequests, QuotaExceeded):
        raise
    except BudgetSpent as spent:
        return Json({"success": False, "error": _FAILED, "detail": f"{spent}.{spent.why}"}, 500)
    except AssayError as fault:
        return Json({"success": False, "error": _FAILED, "detail": fault.detail}, 500)
    await _remember(service, flow, message, answer)
    new, thinking = await asyncio.to_thread(_read, answer)  # repairing broken JSON takes up to seconds
    return await _keep(service, flow, [*bullets, *new][-_BULLETS:], newBullets=new, thinking=thinking)


@compatible("PUT", "/notes", "Failed to save notes")
async def save_notes(service: Service, body: Sent = None) -> Response:
    given = body.get("bullets") if isinstance(body, dict) else None
    bullets = [entry for entry in given if isinstance(entry, str)] if isinstance(given, list) else []
    if not isinstance(given, list) or len(bullets) != len(given) or len(bullets) > _BULLETS:
        return Json({"success": False, "error": "Bullets must be an array of strings"}, 400)
    return await _keep(service, await main_flow(service), [bullet[:_BULLET] for bullet in bullets])


async def _keep(service: FlowService, flow: Flow, bullets: Sequence[str], **more: object) -> Response:
    await service.db.execute(statements.note(flow.key, list(bullets)))
    return Json({"success": True, "bullets": bullets, **more})


async def _bullets(service: FlowService, flow: Flow | None) -> list[str]:
    if flow is None:
        return []
    kept = (await service.db.execute(statements.notes_of(flow.key))).scalar_one_or_none()
    return list(kept or [])


def _conversation(flow: Flow) -> str:
    """Return the id of the notes' conversation, which is separate from that about the diagram."""
    return f"notes-{flow.id}"


async def _ask(service: FlowService, flow: Flow, bullets: Sequence[str], message: str) -> str:
    """Return the model's answer. Raises: AssayError, BudgetSpent."""
    tenant, layer = service.caller.tenant, service.deps.llm.layer
    rows = (await service.db.execute(conversations.history(tenant, _conversation(flow)))).all()
    said = conversations.as_chat([(row.role, row.content) for row in rows])

    def ask() -> str:
        prompt = layer.prompts.render("flows.notes", bullets="\n".join(f"- {b}" for b in bullets), message=message)
        messages = (*said, ChatMessage("user", prompt.text))
        deadline = time.monotonic() + _SECONDS
        request = ChatRequest("flows.edit", messages, max_tokens=2048, deadline=deadline, prompt=prompt.version)
        return layer.for_job(Owner(tenant, None), Budget(seconds=_SECONDS)).complete(request).text

    return await service.deps.llm.call(tenant, ask)


async def _remember(service: FlowService, flow: Flow, message: str, answer: str) -> None:
    tenant, conversation = service.caller.tenant, _conversation(flow)
    await service.db.execute(conversations.start(tenant, conversation))
    await service.db.execute(conversations.add_pair(tenant, conversation, None, message, answer))


def _read(answer: str) -> tuple[list[str], str]:
    """Return the new bullets and the thinking of an answer."""
    return _new_bullets(answer), parse_tagged(answer).thinking


def _new_bullets(answer: str) -> list[str]:
    """Return the strings of the list anywhere in the response's JSON; for other responses, its lines."""
    response = answer.partition("<response>")[2].partition("</response>")[0]
    try:
        parsed = parse(response).value
    except AnswerUnreadable:
        parsed = [line.strip(" -*•\t") for line in response.splitlines()]
    return [entry[:_BULLET] for entry in _list_in(parsed) if isinstance(entry, str) and entry.strip()]


def _list_in(parsed: JsonValue) -> Sequence[JsonValue]:
    """Return the list itself, or the first one of an object, whatever its name."""
    if isinstance(parsed, dict):
        return next((value for value in parsed.values() if isinstance(value, list)), [])
    return parsed if isinstance(parsed, list) else [parsed]
