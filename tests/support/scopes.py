"""What runs in one worker, and in which order: what takes longest first, what breaks servers last."""

from __future__ import annotations

from collections import defaultdict

import pytest

#: Modules that use the command with one installation: two lanes of about the same length, so that a run starts two
#: installations for them, however many workers it has. Nothing else of them is shared, so each sees its own jobs only.
LANES = (
    ("test_command", "test_command_code_file", "test_command_doc_output", "test_command_documents",
     "test_command_endpoints", "test_command_exits", "test_command_ingest", "test_command_uploads", "test_interpreter",
     "test_keys_and_addresses", "mcp/test_stdio"),
    ("test_command_backup", "test_command_data", "test_command_detect", "test_command_eval",
     "test_command_installation", "test_command_jobs", "test_command_tables", "test_command_tenants",
     "test_command_top", "test_generated_clients", "test_mistakes", "test_other_languages", "test_printed"),
)  # fmt: skip
_LANE_OF = {f"tests/assay/{module}.py": f"lane {number}" for number, lane in enumerate(LANES) for module in lane}


def scope_of(nodeid: str) -> str:
    """Return what the test runs with, in one worker: its module, or the lane of its module."""
    module = nodeid.partition("::")[0]
    return _LANE_OF.get(module, module)


def arrange(items: list[pytest.Item]) -> None:
    """Put the scopes that take longest first: one of them at the end would keep a single worker busy."""
    seconds, breaking = defaultdict[str, float](float), set[str]()
    for item in items:
        scope, slow = scope_of(item.nodeid), item.get_closest_marker("slow")
        seconds[scope] += slow.kwargs.get("seconds", 0.5) if slow else 0.02
        if item.get_closest_marker("chaos"):
            breaking.add(scope)

    def place(item: pytest.Item) -> tuple[bool, float, str]:
        scope = scope_of(item.nodeid)
        return scope in breaking, -seconds[scope], scope

    items.sort(key=place)
