"""Versions as text: cleaned, compared with ranges, and reported when their line is out of support."""

from __future__ import annotations

import pytest

from services.stacks.phases.ranges import (
    LIFECYCLES_AS_OF,
    SUPPORTED_FROM,
    SUPPORTED_UNTIL,
    clean,
    end_of_life,
    is_pin,
    numbers,
    satisfies,
    supported_until,
)


@pytest.mark.parametrize(
    ("runtime", "said", "meant"),
    [
        ("node", "lts/iron", "20"), ("node", "lts/hydrogen", "18"), ("node", "v18.1.0", "18.1.0"), ("node", "lts/*", "26"),
        ("python", "python-3.11.4", "3.11.4"), ("ruby", "ruby-3.2.2", "3.2.2"), ("java", "21.0.2-tem", "21.0.2"),
        ("java", "temurin-21.0.2+13.0.LTS", "21.0.2+13.0.LTS"), ("java", "1.8", "8"), ("go", "go1.22.1", "1.22.1"),
        ("node", ">=18", ">=18"),
    ],
)  # fmt: skip
def test_versions_are_cleaned_of_their_spelling(runtime: str, said: str, meant: str) -> None:
    assert clean(runtime, said) == meant


@pytest.mark.parametrize(
    ("pin", "wanted", "runtime", "fits"),
    [
        ("18.0.0", ">=20", "node", False), ("20.11.0", ">=20", "node", True), ("20", ">=20.9", "node", True),
        ("20.1.0", "^18 || ^20", "node", True), ("16.0.0", "^18 || ^20", "node", False), ("20.1.0", "20.x", "node", True),
        ("21.0.0", ">=18 <21", "node", False), ("20.0.0", "18 - 20", "node", True), ("22.0.0", "~20.1", "node", False),
        ("3.11.4", ">=3.12", "python", False), ("3.12", ">=3.12,<4", "python", True), ("3.12.1", "^3.11", "python", True),
        ("3.10", "~=3.11", "python", False), ("18.0.0", "please", "node", None), ("lts", ">=18", "node", None),
    ],
)  # fmt: skip
def test_pins_lie_in_ranges_or_not(pin: str, wanted: str, runtime: str, fits: bool | None) -> None:
    assert satisfies(pin, wanted, runtime) is fits


def test_old_release_lines_are_told() -> None:
    assert end_of_life("node", "16.1.0") is True
    assert end_of_life("node", "24.0.0") is False
    assert end_of_life("python", "3.8") is True
    assert end_of_life("zig", "0.12") is None
    assert end_of_life("node", ">=14") is None


@pytest.mark.parametrize(
    ("runtime", "value", "day", "ended"),
    [
        ("node", "25.2.0", "2026-06-01", True), ("node", "lts/lithium", "2029-04-30", False), ("node", "7", "2017-06-30", True),
        ("python", "3.14.1", "2030-10-31", False), ("ruby", "3.1.6", "2025-03-31", True), ("ruby", "4.0.1", "2029-03-31", False),
        ("php", "8.1", "2025-12-31", True), ("php", "8.2", "2026-12-31", False), ("dotnet", "9.0", "2026-11-10", True),
        ("dotnet", "10.0", "2028-11-14", False), ("go", "1.24.3", "2026-02-11", True), ("go", "1.25.1", None, True),
        ("go", "1.27.0", None, False), ("elixir", "1.15.7", None, True),
    ],
)  # fmt: skip
def test_the_last_day_of_support_is_what_its_makers_announced(
    runtime: str, value: str, day: str | None, ended: bool
) -> None:
    line = clean(runtime, value)
    assert (supported_until(runtime, line), end_of_life(runtime, line)) == (day, ended)


def test_a_release_line_with_a_day_to_come_is_supported() -> None:
    for runtime, lines in SUPPORTED_UNTIL.items():
        for line, day in lines.items():
            assert end_of_life(runtime, line) is (day <= LIFECYCLES_AS_OF), (runtime, line)
            if day > LIFECYCLES_AS_OF:
                assert numbers(line) >= SUPPORTED_FROM[runtime], (runtime, line)


@pytest.mark.parametrize(
    ("pin", "wanted", "fits"),
    [
        ("1.2.3", "1.2", True), ("1.3.0", "1.2", False), ("0.2.5", "^0.2.3", True), ("0.3.0", "^0.2.3", False),
        ("1.4.9", "~1.4.2", True), ("1.5.0", "~1.4.2", False), ("1.4.9", "~>1.4", True), ("1.9.0", "~>1.4", False),
        ("5", "> 4 <6", True), ("5.0", ">=5,<5.1", True), ("3", "x", True), ("3.1", "*", True), ("3", "=3.2", True),
    ],
)  # fmt: skip
def test_every_operator_is_understood(pin: str, wanted: str, fits: bool) -> None:
    assert satisfies(pin, wanted, "node") is fits


#: Each range of node-semver's documentation with versions inside and outside of what it says that the range means.
NPM = [
    ("~1.2.3", "1.2.3 1.2.99", "1.2.2 1.3.0"), ("~1.2", "1.2.0 1.2.9", "1.1.9 1.3.0"), ("~1", "1.0.0 1.9.9", "0.9.9 2.0.0"),
    ("~1.4", "1.4.0 1.4.9", "1.5.0"), ("~0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"), ("~0.2", "0.2.0 0.2.9", "0.1.9 0.3.0"), ("~0", "0.0.0 0.9.0", "1.0.0"),
    ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0"), ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0"), ("^0.0.3", "0.0.3", "0.0.2 0.0.4"),
    ("^1.2.x", "1.2.0 1.9.0", "1.1.9 2.0.0"), ("^0.0.x", "0.0.0 0.0.9", "0.1.0"), ("^0.0", "0.0.0 0.0.9", "0.1.0"), ("^1.x", "1.0.0 1.9.0", "0.9.9 2.0.0"), ("^0.x", "0.0.0 0.9.9", "1.0.0"),
    ("1.2.3 - 2.3.4", "1.2.3 2.3.4", "1.2.2 2.3.5"), ("1.2 - 2.3.4", "1.2.0 2.3.4", "1.1.9 2.3.5"), ("1.2.3 - 2.3", "1.2.3 2.3.9", "2.4.0"), ("1.2.3 - 2", "1.2.3 2.9.9", "3.0.0"),
    ("*", "0.0.0 99.0.0", ""), ("", "0.0.0 99.0.0", ""), ("1.x", "1.0.0 1.9.0", "0.9.9 2.0.0"), ("1.2.x", "1.2.0 1.2.9", "1.1.9 1.3.0"), ("1", "1.0.0 1.9.0", "2.0.0"), ("1.2", "1.2.0 1.2.9", "1.3.0"), ("1.2.*", "1.2.5", "1.3.0"), ("1.x.x", "1.5.0", "2.0.0"),
    (">=1.2.7", "1.2.7 1.2.8 2.5.3", "1.2.6 1.1.0"), (">=1.2.7 <1.3.0", "1.2.7 1.2.99", "1.2.6 1.3.0 1.1.0"), ("1.2.7 || >=1.2.9 <2.0.0", "1.2.7 1.2.9 1.4.6", "1.2.8 2.0.0"),
    (">1.2", "1.3.0 2.0.0", "1.2.9"), ("<=1.2", "1.2.9 0.1.0", "1.3.0"), (">1", "2.0.0", "1.9.9"), ("= 1.2.3", "1.2.3", "1.2.4"), (">= 18", "18.0.0", "17.9.9"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "inside", "outside"), NPM, ids=[row[0] for row in NPM])
def test_ranges_mean_what_the_documentation_of_npm_says(wanted: str, inside: str, outside: str) -> None:
    assert [pin for pin in inside.split() if not satisfies(pin, wanted, "node")] == []
    assert [pin for pin in outside.split() if satisfies(pin, wanted, "node") is not False] == []


@pytest.mark.parametrize(
    ("pin", "wanted", "runtime", "fits"),
    [
        ("3.9.0", "~> 3.1", "ruby", True), ("4.0.0", "~> 3.1", "ruby", False), ("3.1.4", "~> 3.1.2", "ruby", True), ("3.2.0", "~> 3.1.2", "ruby", False),
        ("1.18.1", "~> 1.14", "elixir", True), ("2.0.0", "~> 1.14", "elixir", False), ("8.4.1", "~8.1", "php", True), ("8.2.0", "~8.1.3", "php", False),
        ("3.7.9", "~3.7", "python", True), ("3.8.0", "~3.7", "python", False), ("8", "~8.1", "php", True),
    ],
)  # fmt: skip
def test_the_same_sign_means_something_else_elsewhere(pin: str, wanted: str, runtime: str, fits: bool) -> None:
    assert satisfies(pin, wanted, runtime) is fits


def test_numbers_are_the_first_ones() -> None:
    assert numbers("v20.11.1-alpine3") == (20, 11, 1)
    assert numbers("latest") == ()
    assert is_pin("20.1.0+build") is True
    assert is_pin("^20") is False
