"""Models, providers, model calls and conversations over HTTP."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from shared import conversations
from shared.contracts.conversations import Conversation
from shared.contracts.models import Models, Prompt, Providers
from shared.llm.chat import ChainLink, ChatMessage, ChatReply, ChatRequest, ProviderAttempt, ToolUse
from shared.llm.ledger import CallLedger, Owner
from shared.llm.tables import llm_calls
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving
from tests.services.gateway.http.test_problems import CODE, EXECUTE, assert_problem


def test_the_models_of_a_role_are_changed_and_reset(admin: httpx.Client, client: httpx.Client) -> None:
    before = Models.model_validate(admin.get("/v1/models").json())
    assert before.available
    assert [(each.provider, each.model) for each in before.prices] == [
        (each["provider"], each["model"]) for each in before.available
    ]
    chain = {"chain": [{"provider": "cerebras", "model": "gpt-oss-120b", "parameters": {"temperature": 0.2}}]}
    assert_problem(client.put("/v1/models/flows.edit", json=chain), 403, "missing_scope")
    answer = admin.put("/v1/models/flows.edit", json=chain)
    assert (answer.status_code, answer.json()["chain"]) == (200, chain["chain"])
    assert admin.get("/v1/models").json()["roles"]["flows.edit"] == chain["chain"]
    assert_problem(admin.put("/v1/models/flows.edit", json={"chain": []}), 422, "invalid_request")
    assert_problem(admin.put("/v1/models/no.role", json=chain), 404, "not_found")
    unknown = {"chain": [{"provider": "nobody", "model": "m"}]}
    refused = assert_problem(admin.put("/v1/models/flows.edit", json=unknown), 422, "unknown_provider")
    assert refused["errors"][0]["loc"] == ["body", "chain", 0, "provider"]  # type: ignore[index]
    read = admin.get("/v1/models")
    stale = {"If-Match": read.headers["etag"]}
    other = {"chain": [{"provider": "groq", "model": "llama-3.3-70b-versatile"}]}
    assert admin.put("/v1/models/flows.edit", json=other, headers=stale).status_code == 200
    assert_problem(admin.put("/v1/models/flows.edit", json=chain, headers=stale), 412, "precondition_failed")
    assert client.get("/v1/models", headers={"If-None-Match": stale["If-Match"]}).status_code == 200
    assert Models.model_validate(admin.post("/v1/models/reset").json()) == before
    unsaved = admin.post("/v1/models/flows.edit/test", json={"link": {"provider": "openai", "model": "m"}}).json()
    assert (unsaved["ok"], unsaved["error"]) == (False, "no_provider_configured: set a key")
    tested = admin.post("/v1/models/flows.edit/test")
    assert (tested.status_code, tested.json()["ok"], tested.json()["prompting"]) == (200, False, None)
    assert_problem(admin.post("/v1/models/no.role/test"), 404, "not_found")


def test_one_role_is_reset_and_the_others_keep_their_models(admin: httpx.Client, client: httpx.Client) -> None:
    before = admin.get("/v1/models").json()["roles"]
    chain = {"chain": [{"provider": "cerebras", "model": "gpt-oss-120b", "parameters": {}}]}
    for role in ("flows.edit", "search.answer"):
        assert admin.put(f"/v1/models/{role}", json=chain).status_code == 200
    assert_problem(client.post("/v1/models/flows.edit/reset"), 403, "missing_scope")
    assert_problem(admin.post("/v1/models/no.role/reset"), 404, "not_found")
    assert admin.post("/v1/models/flows.edit/reset").json() == {
        "role": "flows.edit", "chain": before["flows.edit"], "warnings": []
    }  # fmt: skip
    roles = admin.get("/v1/models").json()["roles"]
    assert (roles["flows.edit"], roles["search.answer"]) == (before["flows.edit"], chain["chain"])
    [entry, *_] = admin.get("/v1/audit", params={"action": "models.reset"}).json()["items"]
    assert entry["object"] == "flows.edit"
    admin.post("/v1/models/reset")


@pytest.mark.parametrize(
    ("model", "warned"),
    [
        ("openai/gpt-oss-120b", None),
        ("nosuch", "groq is not known to have a model 'nosuch'"),
        ("openai/gpt-oss-120", "Did you mean openai/gpt-oss-120b?"),
        ("OpenAI/GPT-OSS-120B", "Did you mean openai/gpt-oss-120b?"),
        ("gpt-4", "is not known to have a model 'gpt-4'"),
    ],
)
def test_a_name_that_no_table_knows_is_saved_with_a_warning(
    admin: httpx.Client, model: str, warned: str | None
) -> None:
    saved = admin.put("/v1/models/flows.edit", json={"chain": [{"provider": "groq", "model": model}]})
    assert saved.status_code == 200
    warnings = " ".join(saved.json()["warnings"])
    assert (warned or "") in warnings
    assert bool(warnings) == (warned is not None)
    admin.post("/v1/models/flows.edit/reset")


def test_a_chain_that_another_gateway_changed_a_moment_ago_is_not_overwritten(
    gateway: Gateway, admin: httpx.Client
) -> None:
    mine = {"chain": [{"provider": "groq", "model": "mine", "parameters": {}}]}
    theirs = {"chain": [{"provider": "groq", "model": "theirs", "parameters": {}}]}
    with serving(gateway.settings) as url, httpx.Client(base_url=url, headers=admin.headers, timeout=120) as elsewhere:
        tag = elsewhere.get("/v1/models").headers["etag"]
        assert admin.put("/v1/models/flows.edit", json=theirs).status_code == 200
        refused = elsewhere.put("/v1/models/flows.edit", json=mine, headers={"If-Match": tag})
        assert_problem(refused, 412, "precondition_failed")
        read = elsewhere.get("/v1/models")
        assert read.json()["roles"]["flows.edit"] == theirs["chain"]
        over = {"If-Match": read.headers["etag"]}
        assert elsewhere.put("/v1/models/flows.edit", json=mine, headers=over).status_code == 200
        assert admin.get("/v1/models").json()["roles"]["flows.edit"] == mine["chain"]
        admin.post("/v1/models/reset")


def test_an_administrator_says_which_models_a_tenant_may_use(admin: httpx.Client, client: httpx.Client) -> None:
    path = "/v1/tenants/some-tenant/models"
    shown = admin.get(path).json()
    assert shown.pop("warnings")[0].startswith("No API key belongs to the tenant 'some-tenant'. ")
    assert shown == {"tenant": "some-tenant", "models": ["*"], "own": False}
    assert_problem(client.put(path, json={"models": ["groq/*"]}), 403, "missing_scope")
    assert_problem(client.get(path), 403, "missing_scope")
    changed = admin.put(path, json={"models": ["groq/*"]})
    assert (changed.status_code, changed.json()["models"], changed.json()["own"]) == (200, ["groq/*"], True)
    wrong = assert_problem(admin.put(path, json={"models": ["groq/*", "two words"]}), 422, "invalid_request")
    assert wrong["errors"][0]["loc"] == ["body", "models", 1]  # type: ignore[index]
    assert admin.delete(path).status_code == 204
    assert admin.get(path).json()["own"] is False


def test_a_prompt_is_changed_rolled_back_and_reset(admin: httpx.Client, client: httpx.Client) -> None:
    listed = client.get("/v1/prompts").json()
    assert "execution.transform" in [prompt["key"] for prompt in listed["items"]]
    answer = client.get("/v1/prompts/execution.transform")
    first = Prompt.model_validate(answer.json())
    assert first.is_default
    tag = {"If-None-Match": answer.headers["etag"]}
    assert client.get("/v1/prompts/execution.transform", headers=tag).status_code == 304
    text = {"text": first.text + " Mind the gaps."}
    assert_problem(client.put("/v1/prompts/execution.transform", json=text), 403, "missing_scope")
    current = {"If-Match": answer.headers["etag"]}
    changed = admin.put("/v1/prompts/execution.transform", json=text, headers=current)
    assert (changed.status_code, changed.json()["text"]) == (200, text["text"])
    assert changed.json()["version"] > first.version
    stale = admin.put("/v1/prompts/execution.transform", json=text, headers=current)
    assert_problem(stale, 412, "precondition_failed")
    nonsense = admin.put("/v1/prompts/execution.transform", json=text, headers={"If-Match": '"x"'})
    assert_problem(nonsense, 412, "precondition_failed")
    wrong = admin.put("/v1/prompts/execution.transform", json={"text": first.text + "{{ no_such_thing }}"})
    named = assert_problem(wrong, 422, "prompt_variable_unknown")
    assert named["errors"][0]["loc"] == ["body", "text"]  # type: ignore[index]
    assert "uses variables that this prompt does not have: no_such_thing; it has " in wrong.text
    gone = admin.put("/v1/prompts/execution.transform", json={"text": "Do it."})
    assert gone.status_code == 422 or not first.variables.required
    back = admin.post("/v1/prompts/execution.transform/rollback", json={"version": first.version}).json()
    assert (back["text"], back["version"]) == (first.text, changed.json()["version"] + 1)
    for use, body in {"rollback": {"version": 1}, "publish": {"version": 1}, "reset": None}.items():
        refused = admin.post(f"/v1/prompts/execution.transform/{use}", json=body, headers=current)
        assert_problem(refused, 412, "precondition_failed")
    used = {"If-Match": f'"{back["version"]}"'}
    reset = admin.post("/v1/prompts/execution.transform/reset", headers=used).json()
    assert reset["is_default"]
    versions = client.get("/v1/prompts/execution.transform/versions").json()["items"]
    assert [version["version"] for version in versions] == sorted((v["version"] for v in versions), reverse=True)
    assert_problem(client.get("/v1/prompts/no.prompt"), 404, "not_found")
    assert_problem(admin.put("/v1/prompts/no.prompt", json=text), 404, "not_found")
    unknown = admin.post("/v1/prompts/execution.transform/rollback", json={"version": 9999})
    assert_problem(unknown, 404, "not_found")
    beyond = admin.post("/v1/prompts/execution.transform/rollback", json={"version": 2**31})
    assert assert_problem(beyond, 422, "invalid_request")["errors"]


def test_providers_without_a_key_are_unconfigured(client: httpx.Client) -> None:
    providers = Providers.model_validate(client.get("/v1/providers").json())
    assert {provider.name for provider in providers.items} >= {"groq", "cerebras", "anthropic", "openai"}
    assert {provider.state for provider in providers.items} == {"unconfigured"}


def test_a_provider_is_asked_again_when_somebody_says_so(admin: httpx.Client, client: httpx.Client) -> None:
    assert_problem(client.post("/v1/providers/groq/release"), 403, "missing_scope")
    assert admin.post("/v1/providers/groq/release").json()["name"] == "groq"
    assert_problem(admin.post("/v1/providers/nobody/release"), 404, "not_found")


def test_the_calls_of_a_job_are_listed(client: httpx.Client, other: httpx.Client, gateway: Gateway) -> None:
    workers.advertise(gateway.engine)
    id = client.post("/v1/jobs", json=EXECUTE).json()["id"]
    assert client.get(f"/v1/jobs/{id}/llm-calls").json() == {"items": []}
    call = {
        "tenant_id": "acme",
        "job_id": id,
        "turn": 1,
        "attempt": 1,
        "role": "flows.edit",
        "requested_provider": "groq",
        "requested_model": "m",
        "reason": "primary",
        "outcome": "rate_limited",
        "http_status": 429,
        "seconds": 0.5,
        "source": "live",
    }
    with gateway.engine.begin() as connection:
        connection.execute(llm_calls.insert().values(call))
    item = client.get(f"/v1/jobs/{id}/llm-calls").json()["items"][0]
    assert (item["requested"], item["served"]) == ({"provider": "groq", "model": "m"}, None)
    assert (item["outcome"], item["http_status"], item["input_tokens"]) == ("rate_limited", 429, None)
    assert_problem(other.get(f"/v1/jobs/{id}/llm-calls"), 404, "not_found")


def test_a_call_shows_its_words_where_they_are_kept(
    client: httpx.Client, other: httpx.Client, gateway: Gateway
) -> None:
    workers.advertise(gateway.engine)
    id = client.post("/v1/jobs", json=EXECUTE).json()["id"]
    link = ChainLink("groq", "m")
    request = ChatRequest("flows.edit", (ChatMessage("system", "<b>Be brief</b>"), ChatMessage("user", "\ud83dhalf")))
    reply = ChatReply("brief", "groq", "m", tool_calls=(ToolUse("1", "addNode", {"label": "A"}),))
    answered = ProviderAttempt(1, request, link, "primary", "ok", reply=reply)
    for keep in ("off", "all"):
        CallLedger(gateway.engine, keep).write(Owner("acme", id), answered)
    silent, told = (item["id"] for item in client.get(f"/v1/jobs/{id}/llm-calls").json()["items"])
    shown = client.get(f"/v1/jobs/{id}/llm-calls/{told}").json()
    assert [message["content"] for message in shown["messages"]] == ["<b>Be brief</b>", "?half"]
    assert (shown["answer"], shown["tool_calls"][0]["name"], shown["outcome"]) == ("brief", "addNode", "ok")
    assert client.get(f"/v1/jobs/{id}/llm-calls/{silent}").json()["messages"] is None
    assert_problem(other.get(f"/v1/jobs/{id}/llm-calls/{told}"), 404, "not_found")
    assert_problem(client.get(f"/v1/jobs/{id}/llm-calls/999999"), 404, "not_found")


def test_versions_of_a_prompt_have_notes_and_names(admin: httpx.Client, client: httpx.Client) -> None:
    path = "/v1/prompts/stacks.identify"
    first = client.get(path).json()
    changed = admin.put(path, json={"text": first["text"] + "\nBe sure.", "note": "it guessed"}).json()
    label = {"label": "careful", "version": changed["version"]}
    assert admin.post(f"{path}/labels", json=label).status_code == 204
    assert_problem(client.post(f"{path}/labels", json=label), 403, "missing_scope")
    assert_problem(admin.post(f"{path}/labels", json={**label, "version": 9999}), 404, "not_found")
    assert_problem(admin.post(f"{path}/labels", json={**label, "label": "active"}), 422, "invalid_request")
    newest, *_ = client.get(f"{path}/versions").json()["items"]
    assert (newest["note"], newest["labels"]) == ("it guessed", ["careful"])
    assert newest["actor"] is not None
    admin.post(f"{path}/labels", json={"label": "careful"})
    back = admin.post(f"{path}/rollback", json={"version": first["version"]}).json()
    newest, older, *_ = client.get(f"{path}/versions").json()["items"]
    assert (newest["note"], older["labels"]) == (f"as version {first['version']} was", [])
    assert newest["version"] == back["version"]


def test_a_prompt_is_tried_before_anybody_uses_it(client: httpx.Client) -> None:
    path = "/v1/prompts/flows.unreadable/test"
    refused = assert_problem(client.post(path, json={}), 422, "invalid_request")
    assert "error" in str(refused["detail"])
    tried = client.post(path, json={"variables": {"error": "no JSON"}, "message": "go on"}).json()
    assert [message["role"] for message in tried["messages"]] == ["system", "user"]
    assert "no JSON" in tried["messages"][0]["content"]
    assert (tried["ok"], tried["answer"]) == (False, None)
    assert tried["error"].startswith("no_provider_configured")
    unknown = client.post(path, json={"text": "{{ error }} {{ nobody }}", "variables": {"error": "x"}})
    assert_problem(unknown, 422, "prompt_variable_unknown")
    assert_problem(client.post(path, json={"job_id": "none"}), 422, "invalid_request")
    assert_problem(client.post("/v1/prompts/no.prompt/test", json={}), 404, "not_found")


def test_a_conversation_is_started_read_and_forgotten(
    client: httpx.Client, other: httpx.Client, gateway: Gateway
) -> None:
    job = client.post("/v1/jobs", json=EXECUTE).json()
    id = job["conversation_id"]
    with gateway.engine.begin() as connection:
        pair = conversations.add_pair("acme", id, job["id"], "do it", "done", [{"id": "1", "name": "f", "params": {}}])
        connection.execute(pair)
    listed = client.get("/v1/conversations?limit=1").json()
    assert (listed["items"][0]["id"], listed["items"][0]["messages_count"]) == (id, 2)
    assert (listed["items"][0]["kinds"], listed["items"][0]["title"]) == (["execute"], f"python: {CODE['code']}")
    read = Conversation.model_validate(client.get(f"/v1/conversations/{id}").json())
    assert [(message.role, message.content) for message in read.messages] == [("user", "do it"), ("assistant", "done")]
    assert read.messages[1].tool_calls == [{"id": "1", "name": "f", "params": {}}]
    assert read.messages[0].job_id == job["id"]
    assert_problem(other.get(f"/v1/conversations/{id}"), 404, "not_found")
    assert_problem(other.delete(f"/v1/conversations/{id}"), 404, "not_found")
    assert client.delete(f"/v1/conversations/{id}").status_code == 204
    assert_problem(client.get(f"/v1/conversations/{id}"), 404, "not_found")
    assert client.get(f"/v1/jobs/{job['id']}").status_code == 200


def test_an_administrator_names_endpoints(admin: httpx.Client, client: httpx.Client) -> None:
    path = "/v1/endpoints/gpu1"
    public = {"url": "https://192.0.2.1.example.invalid/v1"}
    assert_problem(client.put(path, json=public), 403, "missing_scope")
    assert_problem(client.get("/v1/endpoints"), 403, "missing_scope")
    unknown = assert_problem(admin.put(path, json=public), 422, "invalid_request")
    assert unknown["errors"] == [{"loc": ["body", "url"], "msg": "the host '192.0.2.1.example.invalid' is not known"}]
    private = assert_problem(admin.put(path, json={"url": "http://127.0.0.1:9/v1"}), 422, "invalid_request")
    assert "ASSAY_LLM_PRIVATE_ENDPOINTS" in str(private["detail"])
    secret = {"url": "https://127.0.0.1/v1", "key_env": "DATABASE_URL"}
    assert assert_problem(admin.put(path, json=secret), 422, "invalid_request")["errors"][0]["loc"] == [  # type: ignore[index]
        "body",
        "key_env",
    ]
    assert_problem(admin.put("/v1/endpoints/groq", json=public), 409, "conflict")
    assert_problem(admin.put(path, json={"concurrency": 2}), 422, "invalid_request")
    assert_problem(admin.post(f"{path}/test"), 404, "not_found")
    assert_problem(admin.delete(path), 404, "not_found")
    assert {each["source"] for each in admin.get("/v1/endpoints").json()["items"]} <= {"built_in", "environment"}


def test_an_administrator_limits_a_vendor(admin: httpx.Client, client: httpx.Client) -> None:
    path, limits = "/v1/endpoints/groq", {"concurrency": 3, "first_token": 9}
    assert_problem(client.put(path, json=limits), 403, "missing_scope")
    answered = admin.put(path, json=limits)
    assert answered.status_code == 200, answered.text
    assert (answered.json()["concurrency"], answered.json()["first_token"]) == (3, 9)
    listed = {each["name"]: each for each in admin.get("/v1/endpoints").json()["items"]}
    assert listed["groq"]["settings"] == limits
    assert_problem(admin.put(path, json={"concurrency": 0}), 422, "invalid_request")
    assert admin.delete(path).status_code == 204
    assert_problem(admin.delete(path), 404, "not_found")
