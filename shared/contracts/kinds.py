"""The kinds of job: one table of what goes in, what comes out, and which service serves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pydantic import BaseModel

from shared.contracts.detect import DetectInput, DetectResult
from shared.contracts.document import DocumentInput, DocumentResult
from shared.contracts.execute import ExecuteInput, ExecuteResult
from shared.contracts.flow import FlowInput, FlowResult
from shared.contracts.search import IngestInput, IngestResult, SearchInput, SearchResult
from shared.contracts.transform import TransformInput, TransformResult


class JobKind(StrEnum):
    EXECUTE = "execute"
    TRANSFORM = "transform"
    DOCUMENT = "document"
    SEARCH = "search"
    INGEST = "ingest"
    FLOW = "flow"
    DETECT = "detect"


@dataclass(frozen=True)
class KindSpec:
    input: type[BaseModel]
    result: type[BaseModel]
    service: str


KINDS: Mapping[JobKind, KindSpec] = MappingProxyType(
    {
        JobKind.EXECUTE: KindSpec(ExecuteInput, ExecuteResult, "execution"),
        JobKind.TRANSFORM: KindSpec(TransformInput, TransformResult, "execution"),
        JobKind.DOCUMENT: KindSpec(DocumentInput, DocumentResult, "execution"),
        JobKind.SEARCH: KindSpec(SearchInput, SearchResult, "search"),
        JobKind.INGEST: KindSpec(IngestInput, IngestResult, "search"),
        JobKind.FLOW: KindSpec(FlowInput, FlowResult, "flows"),
        JobKind.DETECT: KindSpec(DetectInput, DetectResult, "stacks"),
    }
)
