"""The scripted server: answers requests as the script says, and fails on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from shared.llm.scripted import wires
from shared.llm.scripted.caching import PromptCache
from shared.llm.scripted.demo.model import answer as demo_answer
from shared.llm.scripted.http import HttpRequest, HttpResponse
from shared.llm.scripted.model_lists import list_at
from shared.llm.scripted.paths import vendor_of
from shared.llm.scripted.script import (
    PlannedReply,
    Script,
    ScriptedFault,
    ScriptedReply,
    ScriptedRequest,
    ScriptPlayer,
    ServedModels,
    parse,
)
from shared.llm.scripted.server_errors import SEEN
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import ROLE_HEADER, SCRIPTED_HEADER, TURN_HEADER

_MARK = {SCRIPTED_HEADER: "1"}
_JSON = {"Content-Type": "application/json", **_MARK}
_EVENTS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", **_MARK}
_HTML = b"<html><head><title>502 Bad Gateway</title></head><body><h1>The proxy is unhappy</h1></body></html>"
_STATUS = {"rate_limit": 429, "server_error": 500, "overloaded": 529, "status": 500, "tool_use_failed": 400}
_FOREVER = 3600.0


class ScriptedServer:
    """One script at a time; keeps every request for ``GET /_scripted/requests``."""

    def __init__(self, script: Script) -> None:
        self._player = ScriptPlayer(script)
        self._slots = _slots_of(script)
        self._cache = _cache_of(script)
        self._requests: list[dict[str, Any]] = []
        self._tokenized = 0  #: texts whose tokens were counted

    async def handle(self, request: HttpRequest, response: HttpResponse) -> None:
        if request.path.startswith("/_scripted/"):
            await self._admin(request, response)
        elif (listed := list_at(request.path, request.body, self._player.script.server)) is not None:
            self._tokenized += request.path.endswith("/tokenize")
            await response.whole(200, _JSON, json.dumps(listed).encode())
        elif (vendor := vendor_of(request.path, request.headers.get("user-agent", ""))) is None:
            await response.whole(404, _JSON, _refusal("invalid_request_error", f"there is nothing at {request.path}"))
        else:
            await self._answer(request, response, vendor.name)

    async def _answer(self, request: HttpRequest, response: HttpResponse, provider: str) -> None:
        try:
            body = json.loads(request.body)
            question = self._cached(_question(provider, request.headers, body), body)
        except (ValueError, TypeError, AttributeError, KeyError):
            await _fail(response, provider, 400, None, "the body is not a model request")
            return
        seen = {"at": time.time(), "path": request.path, "port": request.port}
        self._requests.append({**seen, **asdict(question), "body": body})
        server = self._player.script.server
        if server is not None and server.window is not None and (tokens := _tokens(question)) > server.window:
            await _overflow(response, server, tokens)
            return
        planned = self._player.next_reply(question)
        if planned is None and self._player.script.demo:
            planned = PlannedReply(*demo_answer(question), self._player.script.latency_ms, self._player.script.token_ms)
        if planned is None:
            words = f"no scripted reply for role {question.role}, turn {question.turn}, provider {provider}"
            await _fail(response, provider, 400, "no_scripted_reply", words)
            return
        async with self._slots or contextlib.nullcontext():
            if response.gone_away:
                return
            await asyncio.sleep(planned.latency_ms / 1000)
            await _play(planned, question, response)

    def _cached(self, question: ScriptedRequest, body: Mapping[str, Any]) -> ScriptedRequest:
        if self._cache is None:
            return question
        cached, written = self._cache.take(body, VENDORS[question.provider].wire.name == "messages")
        return replace(question, cached=cached, written=written)

    async def _admin(self, request: HttpRequest, response: HttpResponse) -> None:
        match request.method, request.path:
            case "GET", "/_scripted/requests":
                seen = {"requests": self._requests, "tokenized": self._tokenized}
                await response.whole(200, _JSON, json.dumps(seen).encode())
            case "DELETE", "/_scripted/requests":
                self._requests.clear()
                await response.whole(204, _JSON, b"")
            case "PUT", "/_scripted/script":
                try:
                    self._player = ScriptPlayer(parse(request.body.decode()))
                    self._slots = _slots_of(self._player.script)
                    self._cache = _cache_of(self._player.script)
                except ValueError as error:
                    await response.whole(400, _JSON, _refusal("bad_script", str(error)))
                else:
                    await response.whole(204, _JSON, b"")
            case "GET", "/_scripted/health":
                await response.whole(200, _JSON, b'{"ok": true}')
            case _:
                await response.whole(404, _JSON, _refusal("invalid_request_error", "there is no such path"))


def _slots_of(script: Script) -> asyncio.Semaphore | None:
    slots = script.server.slots if script.server else None
    return None if slots is None else asyncio.Semaphore(slots)


def _cache_of(script: Script) -> PromptCache | None:
    return None if script.caches is None else PromptCache(script.caches)


def _tokens(question: ScriptedRequest) -> int:
    """Return the token count that the served usage reports."""
    return sum(map(len, question.messages)) // 4 + 1


async def _overflow(response: HttpResponse, server: ServedModels, tokens: int) -> None:
    """Send the server's recorded error with these numbers instead of the recorded ones."""
    seen = SEEN[f"{server.kind} overflow"]
    body = json.dumps(seen.body).replace("6567", str(tokens + 256)).replace("6311", str(tokens))
    await response.whole(seen.status, _JSON, body.replace("2048", str(server.window)).encode())


def _refusal(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"type": kind, "message": message, "code": kind}}).encode()


def _question(provider: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ScriptedRequest:
    messages = body["messages"]
    texts = [_text(message.get("content")) for message in messages]
    system = [_text(body["system"])] if body.get("system") else []
    users = [text for message, text in zip(messages, texts, strict=True) if message.get("role") == "user"]
    turn = headers.get(TURN_HEADER.lower(), "")
    spoken = sum(message.get("role") == "assistant" for message in messages)
    tools = [tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools") or ()]
    return ScriptedRequest(
        provider,
        str(body.get("model")),
        headers.get(ROLE_HEADER.lower()),
        int(turn) if turn.isdigit() else spoken + 1,
        bool(body.get("stream")),
        tuple(system + texts),
        users[-1] if users else "",
        tuple(str(tool) for tool in tools),
    )


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(_text(part.get("text") or part.get("content")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


async def _play(planned: PlannedReply, question: ScriptedRequest, response: HttpResponse) -> None:
    fault = planned.fault or ScriptedFault(kind="slow")
    match fault.kind:
        case "rate_limit" | "server_error" | "overloaded" | "status" | "tool_use_failed":
            generation = planned.reply.content if fault.kind == "tool_use_failed" else None
            code = fault.code or ("tool_use_failed" if generation is not None else None)
            status = fault.status or _STATUS[fault.kind]
            await _fail(response, question.provider, status, code, fault.message, generation, fault.headers)
        case "seen":
            seen = SEEN[fault.name or ""]
            plain = isinstance(seen.body, str)
            headers = {**_JSON, "Content-Type": "text/plain"} if plain else _JSON
            body = str(seen.body) if plain else json.dumps(seen.body)
            await response.whole(seen.status, {**headers, **fault.headers}, body.encode())
        case "disconnect":
            response.cut()
        case "hang":
            await _silence(response)
        case "error_event" if not question.stream:
            await _fail(response, question.provider, fault.status or 529, fault.code, fault.message)
        case "html":
            await response.whole(200, {"Content-Type": "text/html", **_MARK}, _HTML)
        case _ if question.stream:
            await _stream(planned, fault, question, response)
        case _:
            await _whole(planned, fault, question, response)


async def _stream(
    planned: PlannedReply, fault: ScriptedFault, question: ScriptedRequest, response: HttpResponse
) -> None:
    await response.begin(200, {**_EVENTS, **fault.headers})
    pace = (planned.token_ms if fault.token_ms is None else fault.token_ms) / 1000
    for number, piece in enumerate(wires.wire_of(question.provider).pieces(_served(planned, fault, question))):
        if fault.kind in ("cut", "stall", "malformed", "error_event") and number >= fault.after:
            await _break_off(fault, question, response)
            return
        if pace:
            await asyncio.sleep(pace)
        await response.piece(piece)
    await response.end()


async def _break_off(fault: ScriptedFault, question: ScriptedRequest, response: HttpResponse) -> None:
    """End a stream that has begun in the way the fault says."""
    match fault.kind:
        case "stall":
            await _silence(response)
        case "cut":
            response.cut()
        case "malformed":
            await response.piece(wires.wire_of(question.provider).broken)
            await response.end()
        case _:
            await response.piece(wires.error_event(question.provider, fault.status or 529, fault.message))
            await response.end()


async def _whole(
    planned: PlannedReply, fault: ScriptedFault, question: ScriptedRequest, response: HttpResponse
) -> None:
    served = _served(planned, fault, question)
    body = json.dumps(wires.wire_of(served.provider).whole(served)).encode()
    pace = (planned.token_ms if fault.token_ms is None else fault.token_ms) / 1000
    await asyncio.sleep(pace * served.output_tokens)
    match fault.kind:
        case "malformed":
            await response.whole(200, _JSON, body[: len(body) // 2])
        case "cut":
            await response.whole(200, _JSON, body, sent=len(body) // 2)
            response.cut()
        case "stall":
            await response.whole(200, _JSON, body, sent=len(body) // 2)
            await _silence(response)
        case _:
            await response.whole(200, {**_JSON, **fault.headers}, body)


def _served(planned: PlannedReply, fault: ScriptedFault, question: ScriptedRequest) -> wires.ServedReply:
    reply, text = planned.reply, planned.reply.content
    finish = "tool_calls" if reply.tool_calls else "stop"
    match fault.kind:
        case "half_json":
            text = text[: len(text) // 2]
        case "length":
            text, finish = text[: len(text) // 2], "length"
        case "fenced_json":
            text = f"```json\n{text}\n```"
        case "empty":
            reply, text = ScriptedReply(input_tokens=0, output_tokens=0), ""
        case "done_only":
            finish = "unsaid"
        case "refusal":
            finish = "refusal"
        case _:
            pass
    said_in = _tokens(question) if reply.input_tokens is None else reply.input_tokens
    said_out = len(text) // 4 + 1 if reply.output_tokens is None else reply.output_tokens
    cached = (min(question.cached, said_in), min(question.written, max(0, said_in - question.cached)))
    return wires.ServedReply(question.provider, question.model, reply, text, finish, said_in, said_out, *cached)


async def _fail(
    response: HttpResponse,
    provider: str,
    status: int,
    code: str | None,
    message: str,
    generation: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = wires.error(provider, status, code, message, generation)
    await response.whole(status, {**_JSON, **(headers or {})}, json.dumps(body).encode())


async def _silence(response: HttpResponse) -> None:
    """Send nothing until the client closes the connection."""
    with contextlib.suppress(TimeoutError):
        await response.gone(_FOREVER)
    response.cut()
