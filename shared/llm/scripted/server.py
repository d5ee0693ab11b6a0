"""The scripted server: who asks, what the script says, and how it goes wrong on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.llm.scripted import wires
from shared.llm.scripted.http import Answering, Asking
from shared.llm.scripted.script import Director, Fault, Reply, Scene, Script, ScriptedRequest, parse
from shared.llm.vendors.spec import VendorSpec
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import ROLE_HEADER, SCRIPTED_HEADER, TURN_HEADER

_MARK = {SCRIPTED_HEADER: "1"}
_JSON = {"Content-Type": "application/json", **_MARK}
_EVENTS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", **_MARK}
_HTML = b"<html><head><title>502 Bad Gateway</title></head><body><h1>The proxy is unhappy</h1></body></html>"
_STATUS = {"rate_limit": 429, "server_error": 500, "overloaded": 529, "status": 500, "tool_use_failed": 400}
_FOREVER = 3600.0


class ScriptedServer:
    """One script at a time; keeps every request for whoever wants to look."""

    def __init__(self, script: Script) -> None:
        self._director = Director(script)
        self._requests: list[dict[str, Any]] = []

    async def handle(self, asking: Asking, answering: Answering) -> None:
        if asking.path.startswith("/_scripted/"):
            await self._admin(asking, answering)
        elif asking.path.endswith("/v1/models"):
            await answering.whole(200, _JSON, json.dumps({"object": "list", "data": []}).encode())
        elif (vendor := _vendor(asking.path, asking.headers.get("user-agent", ""))) is None:
            await answering.whole(404, _JSON, _refusal("invalid_request_error", f"there is nothing at {asking.path}"))
        else:
            await self._answer(asking, answering, vendor.name)

    async def _answer(self, asking: Asking, answering: Answering, provider: str) -> None:
        try:
            body = json.loads(asking.body)
            asked = _asked(provider, asking.headers, body)
        except (ValueError, TypeError, AttributeError, KeyError):
            await _fail(answering, provider, 400, None, "the body is no request for a model")
            return
        seen = {"at": time.time(), "path": asking.path, "port": asking.port}
        self._requests.append({**seen, **asdict(asked), "body": body})
        scene = self._director.scene(asked)
        if scene is None:
            words = f"no scripted reply for role {asked.role}, turn {asked.turn}, provider {provider}"
            await _fail(answering, provider, 400, "no_scripted_reply", words)
            return
        await asyncio.sleep(scene.latency_ms / 1000)
        await _play(scene, asked, answering)

    async def _admin(self, asking: Asking, answering: Answering) -> None:
        match asking.method, asking.path:
            case "GET", "/_scripted/requests":
                await answering.whole(200, _JSON, json.dumps({"requests": self._requests}).encode())
            case "DELETE", "/_scripted/requests":
                self._requests.clear()
                await answering.whole(204, _JSON, b"")
            case "PUT", "/_scripted/script":
                try:
                    self._director = Director(parse(asking.body.decode()))
                except ValueError as error:
                    await answering.whole(400, _JSON, _refusal("bad_script", str(error)))
                else:
                    await answering.whole(204, _JSON, b"")
            case "GET", "/_scripted/health":
                await answering.whole(200, _JSON, b'{"ok": true}')
            case _:
                await answering.whole(404, _JSON, _refusal("invalid_request_error", "no such thing to administer"))


def _vendor(path: str, user_agent: str) -> VendorSpec | None:
    """By the prefix of the base URL, else by the path of the vendor's SDK, else by the name of the SDK."""
    for vendor in VENDORS.values():
        prefix = "/" + vendor.scripted_path.partition("/")[0]
        if path.startswith(f"{prefix}/") and path.endswith(vendor.path.rpartition("/v1")[2]):
            return vendor
    # An SDK that adds no version to its base URL is used with many other servers, so it is the last to be named.
    candidates = sorted(
        (vendor for vendor in VENDORS.values() if _request_path(vendor) == path),
        key=lambda vendor: (vendor.name not in user_agent.lower(), bool(vendor.version)),
    )
    return candidates[0] if candidates else None


def _request_path(vendor: VendorSpec) -> str:
    """With the version, whether the SDK adds it or the base URL has it."""
    return vendor.path if vendor.version else f"/v1{vendor.path}"


def _refusal(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"type": kind, "message": message, "code": kind}}).encode()


def _asked(provider: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ScriptedRequest:
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


async def _play(scene: Scene, asked: ScriptedRequest, answering: Answering) -> None:
    fault = scene.fault or Fault(kind="slow")
    match fault.kind:
        case "rate_limit" | "server_error" | "overloaded" | "status" | "tool_use_failed":
            generation = scene.reply.content if fault.kind == "tool_use_failed" else None
            code = fault.code or ("tool_use_failed" if generation is not None else None)
            status = fault.status or _STATUS[fault.kind]
            await _fail(answering, asked.provider, status, code, fault.message, generation, fault.headers)
        case "disconnect":
            answering.cut()
        case "hang":
            await _silence(answering)
        case "error_event" if not asked.stream:
            await _fail(answering, asked.provider, fault.status or 529, fault.code, fault.message)
        case "html":
            await answering.whole(200, {"Content-Type": "text/html", **_MARK}, _HTML)
        case _ if asked.stream:
            await _stream(scene, fault, asked, answering)
        case _:
            await _whole(scene, fault, asked, answering)


async def _stream(scene: Scene, fault: Fault, asked: ScriptedRequest, answering: Answering) -> None:
    await answering.begin(200, {**_EVENTS, **fault.headers})
    pace = (scene.token_ms if fault.token_ms is None else fault.token_ms) / 1000
    for number, piece in enumerate(wires.served(asked.provider).pieces(_said(scene, fault, asked))):
        if fault.kind in ("cut", "stall", "malformed", "error_event") and number >= fault.after:
            await _break_off(fault, asked, answering)
            return
        if pace:
            await asyncio.sleep(pace)
        await answering.piece(piece)
    await answering.end()


async def _break_off(fault: Fault, asked: ScriptedRequest, answering: Answering) -> None:
    """End a stream that has begun in the way the fault says."""
    match fault.kind:
        case "stall":
            await _silence(answering)
        case "cut":
            answering.cut()
        case "malformed":
            await answering.piece(wires.served(asked.provider).broken())
            await answering.end()
        case _:
            body = wires.error(asked.provider, fault.status or 529, None, fault.message)
            await answering.piece(wires.served(asked.provider).error_event(body))
            await answering.end()


async def _whole(scene: Scene, fault: Fault, asked: ScriptedRequest, answering: Answering) -> None:
    said = _said(scene, fault, asked)
    body = json.dumps(wires.served(said.provider).whole(said)).encode()
    pace = (scene.token_ms if fault.token_ms is None else fault.token_ms) / 1000
    await asyncio.sleep(pace * said.output_tokens)
    match fault.kind:
        case "malformed":
            await answering.whole(200, _JSON, body[: len(body) // 2])
        case "cut":
            await answering.whole(200, _JSON, body, sent=len(body) // 2)
            answering.cut()
        case "stall":
            await answering.whole(200, _JSON, body, sent=len(body) // 2)
            await _silence(answering)
        case _:
            await answering.whole(200, {**_JSON, **fault.headers}, body)


def _said(scene: Scene, fault: Fault, asked: ScriptedRequest) -> wires.Said:
    reply, text = scene.reply, scene.reply.content
    finish = "tool_calls" if reply.tool_calls else "stop"
    match fault.kind:
        case "half_json":
            text = text[: len(text) // 2]
        case "length":
            text, finish = text[: len(text) // 2], "length"
        case "fenced_json":
            text = f"```json\n{text}\n```"
        case "empty":
            reply, text = Reply(), ""
        case "refusal":
            finish = "refusal"
        case _:
            pass
    said_in = sum(map(len, asked.messages)) // 4 + 1 if reply.input_tokens is None else reply.input_tokens
    said_out = len(text) // 4 + 1 if reply.output_tokens is None else reply.output_tokens
    return wires.Said(asked.provider, asked.model, reply, text, finish, said_in, said_out)


async def _fail(
    answering: Answering,
    provider: str,
    status: int,
    code: str | None,
    message: str,
    generation: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = wires.error(provider, status, code, message, generation)
    await answering.whole(status, {**_JSON, **(headers or {})}, json.dumps(body).encode())


async def _silence(answering: Answering) -> None:
    """Say nothing until the client is gone."""
    with contextlib.suppress(TimeoutError):
        await answering.gone(_FOREVER)
    answering.cut()
