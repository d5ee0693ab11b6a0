"""Limits of the vendors' rows: set by API or file, followed by every process; their address and key stay fixed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete

from shared import db
from shared.contracts.capabilities import ModelState
from shared.contracts.models import EndpointInput
from shared.errors import Conflict, InvalidRequest, NotFound
from shared.llm.endpoints import read_file
from shared.llm.layer import LlmLayer
from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.tables import model_vendors
from shared.llm.vendors.table import VENDORS
from tests.shared.llm.support import ask
from tests.support.scripted import ScriptedLlm
from tests.support.wait import until

LIMITS = EndpointInput(concurrency=2, first_token=7, total=40, window=9000)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    with engine.begin() as connection:
        connection.execute(delete(model_vendors))
    engine.dispose()


@pytest.fixture
def llm(engine: Engine, scripted_llm: ScriptedLlm) -> Iterator[LlmLayer]:
    layer = LlmLayer(ProviderSettings(scripted_llm.environment(["groq"])), CallSettings(), engine, None)
    try:
        yield layer
    finally:
        layer.close()


@pytest.mark.parametrize("vendor", VENDORS)
def test_limits_of_every_vendor_can_be_set_and_taken_back(llm: LlmLayer, vendor: str) -> None:
    own = llm.endpoints.view(vendor)
    told = llm.endpoints.put(vendor, LIMITS, "admin")
    assert (told.concurrency, told.first_token, told.total, told.window) == (2, 7, 40, 9000)
    assert (told.url, told.key_env, told.source, told.idle) == (own.url, own.key_env, own.source, own.idle)
    assert told.settings == {"concurrency": 2, "first_token": 7, "total": 40, "window": 9000}
    used = llm.endpoints[vendor]
    assert (used.concurrency, used.limits.first_token, used.limits.total) == (2, 7, 40)
    assert used.window_of("any-model") == 9000
    llm.endpoints.remove(vendor)
    assert llm.endpoints.view(vendor) == own
    with pytest.raises(NotFound, match="is a vendor, and nothing of it was set"):
        llm.endpoints.remove(vendor)


def test_calls_keep_to_the_limits_and_to_the_vendors_own_address(llm: LlmLayer, scripted_llm: ScriptedLlm) -> None:
    scripted_llm.play({"reply": "yes"})
    llm.endpoints.put("groq", EndpointInput(concurrency=1, window=1200), None)
    assert ask(llm).attempts("provider", "outcome") == [("groq", "ok")]
    (sent,) = scripted_llm.requests()
    assert sent["provider"] == "groq"
    assert (sent["body"].get("max_completion_tokens") or sent["body"]["max_tokens"]) < 1200


def test_a_vendors_address_and_key_are_fixed(llm: LlmLayer) -> None:
    for given in (EndpointInput(url="https://else.example/v1"), EndpointInput(key_env="MODEL_KEY_X")):
        with pytest.raises(Conflict, match="address and key are fixed"):
            llm.endpoints.put("groq", given, None)
    with pytest.raises(InvalidRequest, match=r"body\.url"):
        llm.endpoints.put("gpu1", LIMITS, None)


def test_another_process_follows(llm: LlmLayer, engine: Engine) -> None:
    other = LlmLayer(ProviderSettings({}), CallSettings(), engine, None)
    try:
        assert other.endpoints["groq"].concurrency is None
        llm.endpoints.put("groq", LIMITS, None)
        until(lambda: other.endpoints["groq"].concurrency == 2, "the other process")
    finally:
        other.close()


def test_a_file_sets_them_too(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "endpoints.yaml"
    file.write_text("groq: {concurrency: 3}\ngpu1: {url: 'http://127.0.0.1:9/v1', model: m}\n")
    layer = LlmLayer(ProviderSettings({}), CallSettings(endpoints=file), engine, None)
    try:
        told = layer.endpoints.view("groq")
        assert (told.concurrency, told.source, told.settings) == (3, "built_in", {"concurrency": 3})
        assert [each.name for each in layer.endpoints.views()] == [*VENDORS, "gpu1"]
        with pytest.raises(Conflict, match="ASSAY_LLM_ENDPOINTS"):
            layer.endpoints.put("groq", LIMITS, None)
    finally:
        layer.close()
    for wrong in ("gpu1: {concurrency: 3}", "groq: {url: 'https://else.example/v1'}"):
        file.write_text(wrong)
        with pytest.raises(ValueError, match="ASSAY_LLM_ENDPOINTS"):
            read_file(file)


def test_what_a_server_in_a_vendors_place_was_found_to_take_is_known_to_every_process(
    engine: Engine, scripted_llm: ScriptedLlm
) -> None:
    refused = {"kind": "seen", "name": "llama.cpp images"}
    once = {"when": {"any": "single word"}, "times": 1}
    served = {"kind": "llama.cpp", "version": "1", "models": ["smollm2"], "window": 2048, "tokenizes": True}
    scripted_llm.play(*[{**once, "reply": "ready"}] * 4, {**once, "fault": refused}, {"reply": "ready"}, server=served)
    named = ProviderSettings({"OPENAI_BASE_URL": scripted_llm.base_url("openai")})
    layers = [LlmLayer(named, CallSettings(), engine, None) for _ in range(2)]
    try:
        for layer in layers:
            ask(layer)
        tested = layers[0].test_endpoint("openai")
        assert tested.ok, tested.error
        until(lambda: layers[1].endpoints["openai"].refuses == {"images"}, "the other process")
        view = layers[1].endpoints.view("openai")
        assert view.facts is not None
        assert (view.facts.server, view.facts.probed["images"], view.settings) == ("llama.cpp", False, {})
        (told,) = {each.model_dump_json() for each in layers[1].models.asked()}
        state = ModelState.model_validate_json(told)
        assert (state.provider, state.model, state.window, state.tokenizer) == ("openai", "smollm2", 2048, True)
        assert (state.takes, state.refuses) == (["schema", "stream_usage", "system", "tools"], ["images"])
    finally:
        for layer in layers:
            layer.close()
