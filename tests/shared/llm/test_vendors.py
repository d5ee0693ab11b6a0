"""The table of vendors, and what the environment says of each."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shared.llm.registry import default_chain
from shared.llm.scripted.wires import SERVED
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.llm.vendors.spec import VendorSpec
from shared.llm.vendors.table import VENDORS, key_variables, sdks_called_first
from shared.llm.wires.endpoint import Endpoint

each_vendor = pytest.mark.parametrize("vendor", VENDORS.values(), ids=list(VENDORS))


def by_name(environment: Mapping[str, str]) -> dict[str, Endpoint]:
    return {endpoint.name: endpoint for endpoint in endpoints(ProviderSettings(environment), CallSettings())}


@each_vendor
def test_the_scripted_server_speaks_the_wire_of_every_vendor(vendor: VendorSpec) -> None:
    assert vendor.wire.name in SERVED


@each_vendor
def test_the_variables_of_a_vendor_have_its_prefix(vendor: VendorSpec) -> None:
    variables = vendor.variables
    for variable in filter(None, (variables.api_key, variables.base_url, variables.model)):
        assert variable.name.startswith(variables.prefix)


def test_an_empty_variable_is_as_good_as_none() -> None:
    given = endpoints(
        ProviderSettings({"GROQ_API_KEY": " ", "OPENAI_BASE_URL": "", "OPENAI_MODEL": ""}), CallSettings()
    )

    assert [endpoint.name for endpoint in given] == list(VENDORS)
    assert not any(endpoint.configured for endpoint in given)
    assert given[-1].model == "gpt-5.4-mini"


def test_a_version_that_the_sdk_adds_itself_may_stand_in_the_base_url() -> None:
    environment = {
        "GROQ_BASE_URL": "http://127.0.0.1:1/openai/v1/",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:2/v1",
        "OPENAI_BASE_URL": "http://127.0.0.1:3/v1",
    }
    given = by_name(environment)

    assert given["groq"].base_url == "http://127.0.0.1:1"
    assert given["anthropic"].base_url == "http://127.0.0.1:2"
    assert given["openai"].base_url == "http://127.0.0.1:3/v1"


def test_an_endpoint_on_this_machine_needs_no_key() -> None:
    environment = {"OPENAI_BASE_URL": "http://localhost:11434/v1", "GROQ_BASE_URL": "http://models.example"}
    given = {
        endpoint.name: endpoint.configured for endpoint in endpoints(ProviderSettings(environment), CallSettings())
    }

    assert given == {"groq": False, "cerebras": False, "anthropic": False, "openai": True}


def test_settings_do_not_show_keys() -> None:
    assert "gsk" not in repr(ProviderSettings({"GROQ_API_KEY": "gsk-secret"}))


def test_quick_roles_ask_the_quick_vendors_and_thorough_ones_begin_with_another() -> None:
    assert [link.provider for link in default_chain("flows.edit")] == ["groq", "cerebras"]
    assert [link.provider for link in default_chain("search.plan")] == ["anthropic", "groq", "cerebras"]


def test_a_person_is_told_the_variables_of_all_keys() -> None:
    assert key_variables() == "GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("environment", "modules"),
    [
        ({}, []),
        ({"OPENAI_API_KEY": " "}, []),
        ({"OPENAI_API_KEY": "k"}, ["openai"]),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}, ["openai"]),
        ({"GROQ_BASE_URL": "http://127.0.0.1:1"}, []),
        ({"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}, ["groq"]),
        ({"ANTHROPIC_API_KEY": "k", "CEREBRAS_API_KEY": "k"}, ["anthropic", "cerebras.cloud.sdk"]),
    ],
)
def test_the_sdks_that_are_called_first_are_those_of_the_first_configured_vendors(
    environment: Mapping[str, str], modules: list[str]
) -> None:
    assert sdks_called_first(environment) == modules
