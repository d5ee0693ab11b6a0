"""What a server of models is: which one, which models it has, and how long their windows are; by its own lists."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.contracts.models import EndpointFacts, EndpointModel
from shared.llm.call_clock import Timeouts, Watch
from shared.llm.faults import (
    ConnectionFailed,
    EndpointMoved,
    EndpointNotFound,
    InvalidKey,
    ProviderFault,
    Starting,
    TimedOut,
)
from shared.llm.wires import words
from shared.llm.wires.connections import of_connection
from shared.llm.wires.endpoint import Endpoint
from shared.llm.wires.failures import moved_to
from shared.llm.wires.transport import tls

_SECONDS = 5.0  #: for each request
_MAX_BYTES = 4_000_000
_MAX_MODELS = 500
_SHOWN_MODELS = 20  #: maximum number of models whose details are requested one by one
_OLLAMA_WINDOW = 4096  #: of a model that is loaded without saying how long a window it gets


def discover(endpoint: Endpoint) -> EndpointFacts:
    """Request a server's lists. Raises: ProviderFault with a message for a person."""
    import httpx  # noqa: PLC0415

    base = (endpoint.base_url or "").rstrip("/")
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    with httpx.Client(headers=headers, timeout=_SECONDS, follow_redirects=False, verify=tls(httpx)) as client:
        lists = _Lists(client, base, endpoint.root)
        return lists.facts()


@dataclass
class _Lists:
    client: Any
    base: str
    root: str
    windows: dict[str, int] = field(default_factory=dict)

    def facts(self) -> EndpointFacts:
        models = self._models()
        server, version, slots = self._server(models)
        return EndpointFacts(
            server=server,
            version=version,
            slots=slots,
            tokenizer=self._tokenizes(server, models),
            models=[EndpointModel(id=name, window=self.windows.get(name)) for name in models],
            tested_at=datetime.now(UTC),
        )

    def _models(self) -> list[str]:
        """Return the ids of ``GET /models``. Raises: ProviderFault."""
        listed = self._get(f"{self.base}/models", needed=True)
        names: list[str] = []
        for each in (listed or {}).get("data") or ():
            name = each.get("id") if isinstance(each, dict) else None
            if isinstance(name, str) and len(name) <= 200 and len(names) < _MAX_MODELS:
                names.append(name)
                meta = each.get("meta")
                window = meta.get("n_ctx") if isinstance(meta, dict) else None
                self._window(name, window, each.get("max_model_len"), each.get("context_length"))
        return names

    def _server(self, models: list[str]) -> tuple[str | None, str | None, int | None]:
        if (props := self._get(f"{self.root}/props")) and "default_generation_settings" in props:
            settings = props["default_generation_settings"]
            for name in models:
                self._window(name, settings.get("n_ctx") if isinstance(settings, dict) else None)
            return "llama.cpp", _text(props.get("build_info")), _count(props.get("total_slots"))
        if (tags := self._get(f"{self.root}/api/tags")) and isinstance(tags.get("models"), list):
            self._show(models)
            return "ollama", _text((self._get(f"{self.root}/api/version") or {}).get("version")), None
        if (studio := self._get(f"{self.root}/api/v0/models")) and isinstance(studio.get("data"), list):
            for each in filter(lambda one: isinstance(one, dict), studio["data"]):
                self._window(str(each.get("id")), each.get("loaded_context_length"), each.get("max_context_length"))
            return "lm-studio", None, None
        version = _text((self._get(f"{self.root}/version") or {}).get("version"))
        return ("vllm" if version else None), version, None

    def _tokenizes(self, server: str | None, models: list[str]) -> bool:
        """Return whether ``POST /tokenize`` counts the tokens of a text."""
        if server == "llama.cpp":
            return isinstance((self._get(f"{self.root}/tokenize", body={"content": "ready"}) or {}).get("tokens"), list)
        if server != "vllm" or not models:
            return False
        answer = self._get(f"{self.root}/tokenize", body={"model": models[0], "prompt": "ready"})
        return _count((answer or {}).get("count")) is not None

    def _show(self, models: list[str]) -> None:
        """Ollama gives a model the window that it is loaded with, not the one that it was trained for."""
        for each in (self._get(f"{self.root}/api/ps") or {}).get("models") or ():
            if isinstance(each, dict):
                self._window(str(each.get("name")), each.get("context_length"))
        for name in models[:_SHOWN_MODELS]:
            shown = self._get(f"{self.root}/api/show", body={"model": name}) or {}
            window = next(
                (line.split()[1] for line in _lines(shown.get("parameters")) if line.startswith("num_ctx ")), ""
            )
            info = shown.get("model_info")
            trained = (
                next((value for key, value in info.items() if key.endswith(".context_length")), None)
                if (isinstance(info, Mapping))
                else None
            )
            most = _count(trained)
            self._window(name, int(window) if window.isdecimal() else min(most, _OLLAMA_WINDOW) if most else None)

    def _window(self, name: str, *values: object) -> None:
        if (window := next((count for each in values if (count := _count(each))), None)) is not None:
            self.windows.setdefault(name, window)

    def _get(self, url: str, *, needed: bool = False, body: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """Return the JSON object, or None if there is none. Raises: ProviderFault, if ``needed``."""
        import httpx  # noqa: PLC0415

        try:
            with self.client.stream("GET" if body is None else "POST", url, json=body) as response:
                text = b"".join(bounded(response.iter_bytes()))
                status = response.status_code
        except httpx.TimeoutException:
            if needed:
                raise TimedOut("It did not answer in time.") from None
            return None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            if needed:
                raise _unreached(error) from None
            return None
        if needed and 300 <= status < 400:
            raise EndpointMoved(moved_to(response.headers), status)
        if needed and status >= 400:
            raise _fault(status, text.decode("utf-8", "replace"))
        value = None
        with suppress(ValueError, RecursionError):
            value = json.loads(text) if status == 200 else None
        if needed and not isinstance(value, dict):
            raise EndpointNotFound("There is no model API at its address: check the URL, which often ends with /v1.")
        return value if isinstance(value, dict) else None


def _unreached(error: Exception) -> ProviderFault:
    """Return why its lists were not read, by the cause where that is known."""
    fault = of_connection(error, Watch(Timeouts(), time.monotonic(), connected=True))
    if isinstance(fault, ConnectionFailed):
        return fault
    return ConnectionFailed("It cannot be reached: check its address, and that it runs.")


def _fault(status: int, text: str) -> ProviderFault:
    if status in (401, 403):
        return InvalidKey("It does not accept the API key: name its variable with --key-env.", status)
    if status == 503 and words.is_loading(text):
        return Starting("It is loading its model.", status)
    if status in (404, 405):
        return EndpointNotFound(
            "There is no model API at its address: check the URL, which often ends with /v1.", status
        )
    return ProviderFault(f"It answers its list of models with status {status}.", status)


def bounded(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts. Raises: ValueError for a list that is larger than any server's."""
    size = 0
    for part in parts:
        size += len(part)
        if size > _MAX_BYTES:
            raise ValueError("too large")
        yield part


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


def _text(value: object) -> str | None:
    return value[:100] if isinstance(value, str) and value else None


def _lines(value: object) -> list[str]:
    return [" ".join(line.split()) for line in value.splitlines()] if isinstance(value, str) else []
