"""Two detections compared: what came, what went, what changed."""

from __future__ import annotations

from shared.contracts.detect_diff import compare
from tests.services.stacks.trees import detected

OLD = {
    "package.json": {"dependencies": {"express": "4.18.0"}},
    "i.js": "1\n",
    ".nvmrc": "18\n",
    "api/go.mod": "module a\n",
}
NEW = {
    "package.json": {"dependencies": {"fastify": "4.0.0"}},
    "i.js": "1\n",
    ".nvmrc": "20\n",
    "web/go.mod": "module w\n",
}


def test_equal_trees_have_no_changes() -> None:
    assert compare(detected(OLD), detected(OLD)) == []


def test_changes_are_listed_by_path() -> None:
    said = [(change.path, change.what, change.before, change.after) for change in compare(detected(OLD), detected(NEW))]
    assert ("", "framework", "express", "fastify") in said
    assert ("", "version:node", "18", "20") in said
    assert ("", "candidate:framework:express", "4.18.0", None) in said
    assert ("api", "service", "a", None) in said
    assert ("web", "service", None, "w") in said
    assert [change[0] for change in said] == sorted(change[0] for change in said)
