"""`assay tenants`, `assay conversations`, and the commands that look after a flow."""

from __future__ import annotations

import json

from tests.assay.terminal import Shell


def test_a_tenant_s_models_are_shown_set_and_reset(shell: Shell) -> None:
    assert "the installation" in shell("tenants", "models", "frugal").out
    assert shell("tenants", "set-models", "frugal").status == 2
    assert shell("tenants", "set-models", "frugal", "groq/*", "--none").status == 2
    assert "groq/*\tthe tenant" in shell("tenants", "set-models", "frugal", "groq/*").out
    assert shell("tenants", "set-models", "frugal", "--none").status == 0
    assert json.loads(shell("tenants", "models", "frugal", "--json").out)["models"] == []
    assert shell("tenants", "reset-models", "frugal").status == 0
    assert "the installation" in shell("tenants", "models", "frugal").out


def test_a_tenant_without_keys_is_reported(shell: Shell) -> None:
    for words in (["limits", "set", "defualt", "--streams", "5"], ["limits", "show", "--tenant", "defualt"],
                  ["tenants", "models", "defualt"], ["tenants", "set-models", "defualt", "groq/*"]):  # fmt: skip
        ran = shell(*words)
        assert ran.status == 0
        assert "warning: No API key belongs to the tenant 'defualt'. Did you mean default?" in ran.talk
        assert "assay keys create --tenant defualt --name NAME --scope write" in ran.talk
    gone = shell("tenants", "delete", "nope", "--yes")
    assert (gone.status, "No API key belongs to the tenant 'nope'. Tenants with keys are" in gone.talk) == (3, True)
    assert "No API key" not in shell("limits", "show", "--tenant", "default").talk
    for words in (["limits", "set", "defualt"], ["tenants", "reset-models", "defualt"]):
        assert shell(*words).status == 0


def test_a_tenant_is_deleted_only_when_it_is_confirmed(shell: Shell) -> None:
    key = shell("keys", "create", "--tenant", "leaving", "--name", "k", "--scope", "read").out.strip()
    refused = shell("tenants", "delete", "leaving")
    assert (refused.status, "Confirm with --yes" in refused.talk) == (2, True)
    assert shell("--api-key", key, "jobs", "ls").status == 0
    assert shell("tenants", "delete", "leaving", "--yes").status == 0
    assert shell("--api-key", key, "jobs", "ls").status == 4
    own = shell("tenants", "delete", "default", "--yes")
    assert (own.status, "your own key" in own.talk) == (1, True)


def test_a_conversation_is_listed_read_and_deleted(shell: Shell) -> None:
    body = {"kind": "execute", "input": {"language": "python", "code": "6*7"}}
    job = json.loads(shell("api", "POST", "/v1/jobs", "--body", json.dumps(body)).out)
    assert shell("jobs", "wait", job["id"]).status == 0
    id = json.loads(shell("api", "GET", f"/v1/jobs/{job['id']}").out)["conversation_id"]
    assert id in shell("conversations", "ls").out
    assert shell("conversations", "show", id).status == 0
    assert shell("conversations", "rm", id).status == 0
    assert shell("conversations", "show", id).status == 3


def test_a_flow_is_arranged_checked_restored_and_deleted(shell: Shell) -> None:
    flow = shell("flow", "new", "Kept").out.strip()
    lonely = {"name": "Kept", "nodes": [{"id": "a", "position": {"x": 0, "y": 0}, "data": {}}], "edges": []}
    assert shell("api", "PUT", f"/v1/flows/{flow}", "--body", json.dumps(lonely)).status == 0
    assert shell("flow", "layout", flow, "--direction", "LR").status == 0
    assert shell("flow", "lint", flow).status == 0
    assert shell("flow", "restore", flow, "1").status == 0
    assert json.loads(shell("flow", "show", flow).out)["nodes"] == []
    assert len(shell("flow", "versions", flow).out.splitlines()) >= 4
    assert shell("flow", "proposals", flow).status == 0
    assert shell("flow", "proposal", flow, "none").status == 3
    assert shell("flow", "discard", flow, "none").status == 3
    branch = shell("flow", "branch", flow, "2", "--name", "Variant").out.strip()
    assert [node["id"] for node in json.loads(shell("flow", "show", branch).out)["nodes"]] == ["a"]
    document = shell.folder / "empty.json"
    document.write_text('{"name": "Variant", "nodes": [], "edges": []}')
    assert shell("flow", "replace", branch, str(document)).status == 0
    assert json.loads(shell("flow", "show", branch).out)["nodes"] == []
    document.write_text("{")
    assert shell("flow", "replace", branch, str(document)).status == 2
    assert shell("flow", "rm", flow).status == 0
    assert shell("flow", "show", flow).status == 3
