"""Requests that work as they stand, for the documentation."""

from __future__ import annotations

from fastapi.openapi.models import Example

JOBS: dict[str, Example] = {
    "execute": {
        "summary": "Run Python in the sandbox",
        "value": {"kind": "execute", "input": {"language": "python", "code": "print(1 + 1)"}},
    },
    "transform": {
        "summary": "Let a model write and check data-frame code",
        "value": {
            "kind": "transform",
            "input": {
                "task": "Total amount by region, largest first",
                "data": [{"name": "data", "csv": "region,amount\nnorth,2\nsouth,3\nnorth,4\n"}],
                "assertions": ["rows == 2"],
            },
        },
    },
    "detect": {
        "summary": "Every technology of an uploaded source tree",
        "value": {"kind": "detect", "input": {"source": {"git": "https://github.com/org/repo"}, "mode": "static"}},
    },
    "flow": {
        "summary": "Edit a flow by a message",
        "value": {"kind": "flow", "input": {"flow_id": "FLOW", "message": "Add a review step after Draft"}},
    },
    "search": {
        "summary": "Ask a collection",
        "value": {"kind": "search", "input": {"collection": "conference", "question": "Talks about queues on Friday"}},
    },
}
