"""A provider's address, and how it is called."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from shared.addresses import looks_private
from shared.llm.call_clock import Timeouts
from shared.llm.chat import ChatRequest

#: Sent to local endpoints, so that the scripted server can answer by role and turn.
ROLE_HEADER, TURN_HEADER = "X-Assay-Role", "X-Assay-Turn"
#: A response with this header was not made by a model.
SCRIPTED_HEADER = "x-assay-scripted"


def own_machine(base_url: str) -> bool:
    """Return whether the address is on this machine or its private network, and so not a vendor's."""
    return looks_private(urlsplit(base_url).hostname or "")


@dataclass(frozen=True)
class Endpoint:
    """One vendor as this installation reaches it; a key is optional where the operator has named the address."""

    name: str  #: the vendor's, or the operator's
    api_key: str | None = None
    base_url: str | None = None  #: None is the vendor's own
    model: str | None = None  #: called when no provider of a role's chain is configured
    timeouts: Timeouts = field(default_factory=Timeouts)
    stream: bool = True
    needs_key: bool = True  #: also at an address that the operator has named
    vendor: str = ""  #: whose SDK and wire it has; its name if empty
    models: tuple[tuple[str, int | None], ...] = ()  #: that it serves, with their windows in tokens
    concurrency: int | None = None  #: calls at once, of all workers
    window: int | None = None  #: tokens, for every model, whatever the server reports
    tokenizer: Literal["llama.cpp", "vllm"] | None = None  #: in whose words its server counts tokens, where it does
    probed: tuple[tuple[str, bool], ...] = ()  #: parts of requests, and whether its chosen model was found to take them

    def window_of(self, model: str) -> int | None:
        """Return the tokens of prompt and answer together; None when unknown."""
        return self.window or dict(self.models).get(model)

    @property
    def refuses(self) -> frozenset[str]:
        """Parts of requests that its chosen model was found not to take."""
        return frozenset(part for part, taken in self.probed if not taken)

    @property
    def configured(self) -> bool:
        if self.api_key or self.base_url is None:
            return bool(self.api_key)
        return not self.needs_key or own_machine(self.base_url)

    @property
    def root(self) -> str:
        """Base URL of the server's paths outside of the model API."""
        return (self.base_url or "").rstrip("/").removesuffix("/v1")

    @property
    def own_server(self) -> bool:
        """Return whether this is a server that the operator named, not a vendor's: its lists may be requested."""
        return bool(self.vendor) or (self.base_url is not None and not self.needs_key)

    @property
    def limits(self) -> Timeouts:
        """An answer that comes in one piece has no first token and no pauses."""
        whole = self.timeouts.total
        return self.timeouts if self.stream else replace(self.timeouts, first_token=whole, idle=whole)

    @property
    def last_resort(self) -> float:
        """Time-out of the SDK in seconds; the watch ends a call before it."""
        return self.timeouts.total + 5

    @property
    def mark(self) -> str:
        """Changes with the address and the key, so that what was learned about another one is not held against it."""
        return hashlib.sha256(f"{self.base_url} {self.api_key}".encode()).hexdigest()[:10]

    def key(self, model: str) -> str:
        """Return the name of this endpoint's model in the shared health."""
        return f"{self.name}:{self.mark}:{model}"

    @property
    def learned_key(self) -> str:
        """Names what this endpoint's refusals taught."""
        return f"{self.name}:{self.mark}:learned"

    def headers(self, request: ChatRequest) -> dict[str, str]:
        """Return role and turn as headers, for endpoints that the operator named; vendors do not get them."""
        if self.base_url is None:
            return {}
        return {ROLE_HEADER: request.role, TURN_HEADER: str(request.turn)}
