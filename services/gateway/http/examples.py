"""Bodies that the documentation shows, by operation id; those of jobs are in the table of kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import JsonValue

BODIES: Mapping[str, JsonValue] = MappingProxyType(
    {
        "replay_job": {"input": {"max_iterations": 3}, "model": "groq/openai/gpt-oss-120b"},
        "submit_batch": {
            "jobs": [
                {"kind": "execute", "input": {"language": "python", "code": "print(1)"}},
                {"kind": "execute", "input": {"language": "sql", "code": "SELECT 42 AS answer"}, "priority": 9},
            ]
        },
        "create_flow": {
            "name": "main",
            "nodes": [
                {"id": "a", "position": {"x": 0, "y": 0}, "data": {"label": "Draft"}},
                {"id": "b", "position": {"x": 0, "y": 120}, "data": {"label": "Review"}},
            ],
            "edges": [{"id": "a-b", "source": "a", "target": "b"}],
        },
        "save_flow": {
            "name": "main",
            "nodes": [{"id": "a", "position": {"x": 0, "y": 0}, "data": {"label": "Draft"}}],
            "edges": [],
        },
        "import_flow": {"format": "mermaid", "text": "flowchart TD\n  a[Draft] --> b[Review]"},
        "run_operations": {"tool_calls": [{"name": "addNode", "params": {"label": "Publish"}}], "atomic": True},
        "undo_flow": {"scope": "mine"},
        "redo_flow": {"scope": "all"},
        "lay_out_flow": {"direction": "LR"},
        "set_prompt": {"text": "Write data-frame code for this task: {{ task }}"},
        "rollback_prompt": {"version": 1},
        "set_model_chain": {
            "chain": [
                {"provider": "groq", "model": "openai/gpt-oss-120b", "parameters": {"temperature": 1}},
                {"provider": "cerebras", "model": "gpt-oss-120b"},
            ]
        },
        "create_collection": {
            "name": "conference",
            "tables": {"sessions": {"facets": {"session_topic": 1.5}, "fields": {"track": "keyword"}}},
        },
        "set_definitions": {
            "yaml": "definitions:\n  - id: blorb\n    kind: build_system\n    name: Blorb\n    files: [Blorbfile]\n"
        },
        "check_definitions": {
            "definitions": [
                {
                    "id": "acme",
                    "kind": "framework",
                    "name": "Acme",
                    "dependencies": [{"ecosystem": "npm", "name": "@acme/core"}],
                }
            ]
        },
        "rollback_definitions": {"version": 1},
        "promote_stack_proposal": {"files": ["*.blorb"]},
        "create_key": {"tenant": "acme", "name": "ci", "scopes": ["read", "write"]},
    }
)
