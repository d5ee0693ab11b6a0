"""Where a provider is, and how it is asked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from shared.llm.chat import ChatRequest
from shared.llm.watch import Timeouts

#: Tell a local endpoint which role asks, so that the scripted server can answer by role and turn.
ROLE_HEADER, TURN_HEADER = "X-Assay-Role", "X-Assay-Turn"
#: A response with this header was not made by a model.
SCRIPTED_HEADER = "x-assay-scripted"


@dataclass(frozen=True)
class Endpoint:
    """One vendor as this installation reaches it; a key is optional when the endpoint is this machine."""

    name: str  #: the vendor's
    api_key: str | None = None
    base_url: str | None = None  #: None is the vendor's own
    model: str | None = None  #: asked when no provider of a role's chain is configured
    timeouts: Timeouts = field(default_factory=Timeouts)
    stream: bool = True

    @property
    def configured(self) -> bool:
        return bool(self.api_key) or self.is_local

    @property
    def is_local(self) -> bool:
        host = urlsplit(self.base_url or "").hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    @property
    def last_resort(self) -> float:
        """Time-out of the SDK in seconds; the watch ends a call before it."""
        return self.timeouts.total + 5

    @property
    def mark(self) -> str:
        """Changes with the address and the key, so that what was learned about another one is not held against it."""
        return hashlib.sha256(f"{self.base_url} {self.api_key}".encode()).hexdigest()[:10]

    def key(self, model: str) -> str:
        """Names this endpoint's model in the shared health."""
        return f"{self.name}:{self.mark}:{model}"

    def headers(self, request: ChatRequest) -> dict[str, str]:
        """Role and turn, for endpoints that the operator has named; vendors are not told."""
        if self.base_url is None:
            return {}
        return {ROLE_HEADER: request.role, TURN_HEADER: str(request.turn)}
