"""Named endpoints: any number, found out about, followed by every process, with keys that are nowhere kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select

from shared import db
from shared.contracts.models import EndpointInput
from shared.errors import Conflict, InvalidRequest, NotFound
from shared.llm.chat import ChainLink
from shared.llm.endpoint_address import base_url_of, check_address
from shared.llm.endpoints import read_file
from shared.llm.layer import LlmLayer
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.tables import model_endpoints, model_vendors
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint
from tests.shared.llm.support import ask
from tests.support.scripted import ScriptedLlm, started
from tests.support.wait import until

KINDS = ("llama.cpp", "vllm", "ollama", "lm-studio")


@pytest.fixture
def second() -> Iterator[ScriptedLlm]:
    process, url = started()
    try:
        yield ScriptedLlm(url)
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    with engine.begin() as connection:
        connection.execute(delete(model_endpoints))
        connection.execute(delete(model_vendors))
    engine.dispose()


@pytest.fixture
def llm(engine: Engine) -> Iterator[LlmLayer]:
    settings = ProviderSettings({"MODEL_KEY_GPU1": "secret-of-gpu1"})
    layer = LlmLayer(settings, CallSettings(private_endpoints=True), engine, None)
    try:
        yield layer
    finally:
        layer.close()


def address(server: ScriptedLlm) -> EndpointInput:
    return EndpointInput(url=server.base_url("openai"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_only_model_of_a_server_is_chosen_and_its_window_known(
    llm: LlmLayer, scripted_llm: ScriptedLlm, kind: str
) -> None:
    served = {"kind": kind, "version": "7.1", "models": ["smollm2"], "window": 2048, "slots": 1}
    scripted_llm.play({"reply": "ready"}, server=served)
    llm.endpoints.put("gpu1", address(scripted_llm), None)
    tested = llm.test_endpoint("gpu1")
    assert (tested.ok, tested.error) == (True, None)
    assert tested.facts is not None
    assert tested.facts.server == kind
    assert tested.facts.version == (None if kind == "lm-studio" else "7.1")
    assert [(model.id, model.window) for model in tested.facts.models] == [("smollm2", 2048)]
    assert tested.facts.probed == dict.fromkeys(("stream_usage", "system", "schema", "tools", "images"), True)
    asked = ask(llm)
    assert asked.attempts("provider", "model", "outcome") == [("gpu1", "smollm2", "ok")], "no chain names it yet"


def test_what_a_model_does_not_take_is_found_once_and_left_out_for_good(
    llm: LlmLayer, scripted_llm: ScriptedLlm
) -> None:
    refused = {"kind": "seen", "name": "llama.cpp images"}
    image_only = {"when": {"any": "single word"}, "times": 1}
    scripted_llm.play(
        *[{**image_only, "reply": "ready"}] * 4,
        {**image_only, "fault": refused},
        {"reply": "ready"},
        server={"models": ["smollm2"]},
    )
    llm.endpoints.put("gpu1", address(scripted_llm), None)
    tested = llm.test_endpoint("gpu1")
    assert tested.facts is not None
    assert {name for name, taken in tested.facts.probed.items() if not taken} == {"images"}
    assert llm.endpoints["gpu1"].refuses == {"images"}


@pytest.mark.parametrize(
    ("models", "error"),
    [([], "no_model: "), (["a", "b"], "no_model_chosen: it serves a, b: choose one with `assay endpoints add gpu1")],
)
def test_without_a_model_the_test_says_how_to_choose_one(
    llm: LlmLayer, scripted_llm: ScriptedLlm, models: list[str], error: str
) -> None:
    scripted_llm.play(server={"models": models})
    llm.endpoints.put("gpu1", address(scripted_llm), None)
    tested = llm.test_endpoint("gpu1")
    assert not tested.ok
    assert (tested.error or "").startswith(error)


def test_a_server_that_is_not_there_is_told_so(llm: LlmLayer) -> None:
    llm.endpoints.put("gpu1", EndpointInput(url="http://127.0.0.1:1/v1"), None)
    tested = llm.test_endpoint("gpu1")
    assert (tested.ok, (tested.error or "").partition(":")[0]) == (False, "connection_failed")
    with pytest.raises(NotFound):
        llm.test_endpoint("gpu2")


def test_chains_name_endpoints_and_fail_over_between_them(
    llm: LlmLayer, scripted_llm: ScriptedLlm, second: ScriptedLlm
) -> None:
    scripted_llm.play({"fault": "server_error"})
    second.play({"reply": "from the second"})
    llm.endpoints.put("gpu1", address(scripted_llm), None)
    llm.endpoints.put("gpu2", address(second), None)
    llm.models.set_chain("flows.edit", [ChainLink("gpu1", "m"), ChainLink("gpu2", "m")])
    assert ask(llm).attempts("provider", "outcome") == [("gpu1", "server_error"), ("gpu2", "ok")]
    llm.endpoints.remove("gpu2")
    assert "gpu2" not in {each.name for each in llm.providers()}
    llm.models.reset()


@pytest.mark.slow
def test_another_process_follows_and_closes_the_old_address(
    llm: LlmLayer, engine: Engine, scripted_llm: ScriptedLlm, second: ScriptedLlm
) -> None:
    other = LlmLayer(ProviderSettings({}), CallSettings(), engine, None)
    try:
        scripted_llm.play({"reply": "one"})
        second.play({"reply": "two"})
        llm.endpoints.put("gpu1", address(scripted_llm), None)
        until(lambda: "gpu1" in other.endpoints, "the other process")
        assert ask(other, "gpu1/m").attempts("outcome") == [("ok",)]
        llm.endpoints.put("gpu1", address(second), None)
        until(lambda: other.endpoints["gpu1"].base_url == second.base_url("openai"), "the new address")
        ask(other, "gpu1/m")
        assert len(second.requests()) == 1
    finally:
        other.close()


def test_a_key_is_named_by_its_variable_and_kept_nowhere(
    llm: LlmLayer, engine: Engine, scripted_llm: ScriptedLlm
) -> None:
    given = address(scripted_llm).model_copy(update={"key_env": "MODEL_KEY_GPU1"})
    view = llm.endpoints.put("gpu1", given, "admin-key")
    assert (view.has_key, llm.endpoints["gpu1"].api_key) == (True, "secret-of-gpu1")
    with engine.connect() as connection:
        kept = str(connection.execute(select(model_endpoints)).all())
    assert "secret-of-gpu1" not in kept + view.model_dump_json()
    missing = llm.endpoints.put("gpu2", given.model_copy(update={"key_env": "MODEL_KEY_NONE"}), None)
    assert (missing.has_key, llm.endpoints["gpu2"].configured) == (False, True)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "DATABASE_URL", "MODEL_KEY_", "model_key_x"])
def test_other_variables_cannot_be_sent_anywhere_by_naming_them(name: str) -> None:
    with pytest.raises(ValueError, match="key_env"):
        EndpointInput(url="https://models.example/v1", key_env=name)


@pytest.mark.parametrize(
    ("url", "private", "problem"),
    [
        ("http://127.0.0.1:8000/v1", False, "only https"),
        ("https://127.0.0.1:8000/v1", False, "private"),
        ("http://169.254.169.254/v1", True, "machine's own services"),
        ("https://localhost/v1?x=1", True, "not a base URL"),
        ("http://127.0.0.1:99999/v1", True, "not known"),
    ],
)
def test_an_address_that_the_operator_does_not_allow_is_refused(url: str, private: bool, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        check_address(url, allow_private=private)


def test_a_taken_name_is_refused(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    with pytest.raises(Conflict):
        llm.endpoints.put("groq", address(scripted_llm), None)


def test_a_settings_file_names_endpoints_too(engine: Engine, scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text(f"gpu9:\n  url: {scripted_llm.base_url('openai')}\n  model: m\n  total: 33\n")
    layer = LlmLayer(ProviderSettings({}), CallSettings(endpoints=file), engine, None)
    try:
        scripted_llm.play({"reply": "ok"})
        assert ask(layer).attempts("provider", "model") == [("gpu9", "m")]
        assert (layer.endpoints.view("gpu9").source, layer.endpoints["gpu9"].limits.first_token) == ("file", 33)
        with pytest.raises(Conflict):
            layer.endpoints.remove("gpu9")
    finally:
        layer.close()
    file.write_text("gpu9: {url: 'ftp://x'}\n")
    with pytest.raises(ValueError, match="ASSAY_LLM_ENDPOINTS"):
        read_file(file)


def test_the_version_of_the_api_may_be_left_out() -> None:
    assert base_url_of("http://gpu:8000/") == "http://gpu:8000/v1"
    assert base_url_of("http://gpu:8000/api/v2/") == "http://gpu:8000/api/v2"


@pytest.mark.parametrize(("named", "expected"), [({}, "smollm2"), ({"OPENAI_MODEL": "chosen"}, "chosen")])
def test_the_only_model_of_the_environments_server_is_asked_unless_another_is_named(
    scripted_llm: ScriptedLlm, named: dict[str, str], expected: str
) -> None:
    scripted_llm.play({"reply": "ok"}, server={"models": ["smollm2"], "window": 512, "slots": 2})
    settings = ProviderSettings({"OPENAI_BASE_URL": scripted_llm.base_url("openai"), **named})
    layer = LlmLayer(settings, CallSettings(), None, None)
    try:
        assert ask(layer).attempts("model") == [(expected,)]
        assert layer.endpoints["openai"].window_of("smollm2") == 512
        assert layer.endpoints["openai"].concurrency == 2, "its slots are respected without being named"
    finally:
        layer.close()


@pytest.mark.parametrize("broken", [{"kind": "html"}, {"kind": "status", "status": 401}])
def test_a_key_that_is_wrong_is_told_by_the_test(llm: LlmLayer, scripted_llm: ScriptedLlm, broken: Any) -> None:
    scripted_llm.play({"fault": broken}, server={"models": ["m"]})
    llm.endpoints.put("gpu1", address(scripted_llm), None)
    assert (llm.test_endpoint("gpu1").error or "").partition(":")[0] in ("unreadable_answer", "invalid_key")


def test_a_server_of_the_environment_that_does_not_answer_is_told_so() -> None:
    layer = LlmLayer(ProviderSettings({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}), CallSettings(), None, None)
    try:
        until(lambda: _openai(layer) == (False, "connection_failed"), "the first look")
    finally:
        layer.close()


def _openai(layer: LlmLayer) -> tuple[bool | None, str | None]:
    state = {each.name: each for each in layer.providers()}["openai"]
    return state.reachable, state.last_error


def test_vendors_are_listed_beside_the_named_ones_and_no_key_is(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text("gpu1: {url: 'http://127.0.0.1:9/v1', model: m, concurrency: 2}\n")
    variables = {"GROQ_API_KEY": "gsk-secret", "ANTHROPIC_BASE_URL": "https://user:hidden@proxy.example/a?token=hidden"}
    layer = LlmLayer(ProviderSettings(variables), CallSettings(endpoints=file, total_seconds=77), None, None)
    try:
        listed = {each.name: each for each in layer.endpoints.views()}
        with pytest.raises(NotFound, match="groq is a vendor"):
            layer.test_endpoint("groq")
    finally:
        layer.close()
    assert list(listed) == [*VENDORS, "gpu1"]
    groq, anthropic = listed["groq"], listed["anthropic"]
    assert (groq.source, groq.has_key, groq.key_env, groq.total) == ("built_in", True, "GROQ_API_KEY", 77)
    assert groq.model == VENDORS["groq"].defaults.model
    assert (anthropic.source, anthropic.has_key, anthropic.url) == ("environment", False, "https://proxy.example/a")
    assert (listed["gpu1"].source, listed["gpu1"].concurrency) == ("file", 2)
    told = " ".join(each.model_dump_json() for each in listed.values())
    assert "secret" not in told
    assert "hidden" not in told


@pytest.mark.slow
def test_the_address_that_is_shown_of_a_vendor_is_its_sdks_own() -> None:
    for name, vendor in VENDORS.items():
        sdk = vendor.sdk(Endpoint(name, api_key="none"))
        try:
            assert str(sdk.client.base_url).rstrip("/") == vendor.address
        finally:
            sdk.close()
