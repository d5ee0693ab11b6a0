"""Visual settings: defaults, what differs from them, and steps within limits."""

from __future__ import annotations

from typing import Any

import pytest

from shared.contracts.flow_document import VisualSettings
from shared.errors import InvalidRequest
from shared.flows import visuals
from shared.flows.document import Item


def stored(**given: Any) -> dict[str, Item]:
    return visuals.stored(VisualSettings.model_validate(given))


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert stored() == {}
    same = {"allNodes": {"background": "#1a192b", "text": "red"}}
    assert stored(colors=same) == {"/colors/allNodes/text": Item(0, {"value": "red"})}


def test_ids_with_slashes_and_tildes_come_back_in_the_merged_settings() -> None:
    own = stored(colors={"perNode": {"a/b~c": {"border": "blue"}}})
    assert list(own) == [visuals.node_color("a/b~c", "border")] == ["/colors/perNode/a~1b~0c/border"]
    colors: Any = visuals.merged(own)["colors"]
    assert colors["perNode"] == {"a/b~c": {"border": "blue"}}


def test_merged_settings_hold_every_default() -> None:
    merged: Any = visuals.merged({})
    assert merged["dimensions"]["node"]["default"] == {"width": 172, "height": 76, "borderRadius": 4}
    assert merged["dimensions"]["zoom"] == 1
    assert merged["colors"]["perNode"] == {}


def test_a_wrong_colour_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidRequest) as refused:
        stored(colors={"allNodes": {"text": "linear-gradient(red, blue)"}, "background": "linear-gradient(red, blue)"})
    assert "allNodes" in str(refused.value.extra) + str(refused.value)
    assert "text" in str(refused.value.extra) + str(refused.value)


def test_a_size_is_the_nodes_own_else_the_default() -> None:
    own = stored(dimensions={"node": {"default": {"width": 200}, "overrides": {"a": {"height": 50}}}})
    assert visuals.size_of(own, "a") == (200, 50)
    assert visuals.size_of(own, "b") == (200, 76)


@pytest.mark.parametrize(
    ("value", "factor", "wanted"),
    [(100, 1.1, 110), (172, 0.9, 154.8), (590, 1.1, 600), (61, 0.9, 60), (172, 1.1, 189.2)],
)
def test_a_step_is_rounded_and_stays_within_the_limits(value: float, factor: float, wanted: float) -> None:
    scaled = visuals.scaled(value, factor, visuals.WIDTH)
    assert scaled == wanted
    assert isinstance(scaled, int) == float(wanted).is_integer()
