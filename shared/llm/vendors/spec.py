"""What Assay knows of a vendor; everything else reads it from the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.llm.chat import ChainLink
from shared.llm.wires.sdk import SdkClient
from shared.llm.wires.wire import Wire

#: Sampling options of ``gpt-oss`` and models like it, which do quick edits.
QUICK: Mapping[str, JsonValue] = {"temperature": 1, "top_p": 1, "reasoning_effort": "low"}


@dataclass(frozen=True)
class EnvironmentVariable:
    """An environment variable, which the vendor's own SDK reads too."""

    name: str
    description: str
    default: str = ""


@dataclass(frozen=True)
class Variables:
    """``GROQ_API_KEY`` and the like; the common prefix marks the vendor's variables."""

    prefix: str
    api_key: EnvironmentVariable
    base_url: EnvironmentVariable
    model: EnvironmentVariable | None = None  #: names the default model


@dataclass(frozen=True)
class Defaults:
    """The vendor's model in the default chains. Positions count from 1; None is used when no other vendor has a key."""

    model: str
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    quick: int | None = None  #: place for roles of quick edits
    thorough: int | None = None  #: place for roles that plan and judge


@dataclass(frozen=True)
class VendorSpec:
    """A row of the table."""

    name: str  #: in chains, selectors, ``GET /v1/providers``, metrics and the ledger
    sdk: SdkClient
    path: str  #: of requests, under the base URL
    wire: Wire  #: the format of requests and answers
    variables: Variables  #: the processes of ``assay up`` that call models get all variables with this prefix
    defaults: Defaults
    address: str = ""  #: the base URL that its SDK has by itself, as it is shown to people
    keyless: bool = False  #: a server at another address than the vendor's own may need no key
    version: str = ""  #: what the SDK adds to the base URL itself, so that it is removed from one that has it
    list_query: str = ""  #: of the request for the list of models
    scripted: str = ""  #: path of the vendor's base URL on the scripted server; its name if empty

    @property
    def model_list(self) -> str:
        """The path of the list of models, next to that of requests; with as many as one page may hold."""
        parent = self.path.removesuffix("/messages").removesuffix("/chat/completions")
        return f"{parent}/models{self.list_query}"

    @property
    def scripted_path(self) -> str:
        return self.scripted or self.name

    @property
    def link(self) -> ChainLink:
        """The model of the default chains."""
        return ChainLink(self.name, self.defaults.model, self.defaults.parameters)
