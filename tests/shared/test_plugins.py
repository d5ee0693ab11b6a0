"""Tables of specifications, and the plugins that add rows to them."""

import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from shared.plugins import load_plugins
from shared.settings import PluginSettings
from shared.specs import SpecTable


@dataclass(frozen=True)
class Metal:
    name: str


def test_a_table_keeps_its_rows_in_order() -> None:
    table = SpecTable("metal", [Metal("gold"), Metal("silver")])

    table.register(Metal("copper"))

    assert list(table) == ["gold", "silver", "copper"]
    assert table["copper"] == Metal("copper")


def test_a_name_is_registered_once() -> None:
    table = SpecTable("metal", [Metal("gold")])

    with pytest.raises(ValueError, match="there is already a metal 'gold'"):
        table.register(Metal("gold"))


def test_a_plugin_registers_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table: SpecTable[Metal] = SpecTable("metal")
    plugin = ModuleType("a_plugin_of_this_test")
    plugin.register = lambda: table.register(Metal("tin"))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, plugin.__name__, plugin)

    load_plugins(PluginSettings(plugins=f" {plugin.__name__}, ").modules)

    assert list(table) == ["tin"]


def test_a_plugin_that_does_not_exist_stops_the_process() -> None:
    with pytest.raises(ImportError):
        load_plugins(["there_is_no_such_plugin"])
