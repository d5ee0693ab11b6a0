"""Versions as text: cleaned of prefixes, aliases resolved, and whether a pin lies inside a range."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

#: Node's release lines by code name, and the newest one in long-term support.
#: Source: https://raw.githubusercontent.com/nodejs/Release/main/schedule.json, and the notes of v26.13.0.
NODE_LTS = {
    "argon": "4", "boron": "6", "carbon": "8", "dubnium": "10", "erbium": "12", "fermium": "14", "gallium": "16",
    "hydrogen": "18", "iron": "20", "jod": "22", "krypton": "24", "lithium": "26",
}  # fmt: skip
NODE_NEWEST_LTS = "26"
#: The first release line of each runtime that is still supported.
#: Go keeps the two newest (https://go.dev/doc/devel/release#policy; 1.27 is out), Elixir the five newest
#: (https://hexdocs.pm/elixir/compatibility-and-deprecations.html); the others as in the table below.
SUPPORTED_FROM = {
    "node": (22,), "python": (3, 11), "ruby": (3, 3), "php": (8, 2), "dotnet": (10, 0), "go": (1, 26), "java": (8,),
    "deno": (2,), "elixir": (1, 16),
}  # fmt: skip
#: The day of the tables: what ends later is in support.
LIFECYCLES_AS_OF = "2026-11-23"
#: The last day of support of release lines, as their makers announced it.
SUPPORTED_UNTIL = {
    # https://raw.githubusercontent.com/nodejs/Release/main/schedule.json
    "node": {
        "4": "2018-04-30", "5": "2016-06-30", "6": "2019-04-30", "7": "2017-06-30", "8": "2019-12-31",
        "9": "2018-06-30", "10": "2021-04-30", "11": "2019-06-01", "12": "2022-04-30", "13": "2020-06-01",
        "14": "2023-04-30", "15": "2021-06-01", "16": "2023-09-11", "17": "2022-06-01", "18": "2025-04-30",
        "19": "2023-06-01", "20": "2026-04-30", "21": "2024-06-01", "22": "2027-04-30", "23": "2025-06-01",
        "24": "2028-04-30", "25": "2026-06-01", "26": "2029-04-30",
    },
    # https://raw.githubusercontent.com/python/devguide/main/include/release-cycle.json
    "python": {
        "2.6": "2013-10-29", "2.7": "2020-01-01", "3.3": "2017-09-29", "3.4": "2019-03-18", "3.5": "2020-09-30",
        "3.6": "2021-12-23", "3.7": "2023-06-27", "3.8": "2024-10-07", "3.9": "2025-10-31", "3.10": "2026-10-31",
        "3.11": "2027-10-31", "3.12": "2028-10-31", "3.13": "2029-10-31", "3.14": "2030-10-31",
    },
    # https://endoflife.date/api/ruby.json
    "ruby": {
        "2.3": "2019-03-31", "2.4": "2020-03-31", "2.5": "2021-03-31", "2.6": "2022-03-31", "2.7": "2023-03-31",
        "3.0": "2024-04-23", "3.1": "2025-03-31", "3.2": "2026-03-31", "3.3": "2027-03-31", "3.4": "2028-03-31",
        "4.0": "2029-03-31",
    },
    # https://www.php.net/supported-versions.php, https://www.php.net/eol.php
    "php": {
        "5.6": "2018-12-31", "7.0": "2019-01-10", "7.1": "2019-12-01", "7.2": "2020-11-30", "7.3": "2021-12-06",
        "7.4": "2022-11-28", "8.0": "2023-11-26", "8.1": "2025-12-31", "8.2": "2026-12-31", "8.3": "2027-12-31",
        "8.4": "2028-12-31", "8.5": "2029-12-31",
    },
    # https://dotnet.microsoft.com/platform/support/policy
    "dotnet": {
        "3.1": "2022-12-13", "5.0": "2022-05-10", "6.0": "2024-11-12", "7.0": "2024-05-14", "8.0": "2026-11-10",
        "9.0": "2026-11-10", "10.0": "2028-11-14",
    },
    # https://endoflife.date/api/go.json
    "go": {
        "1.15": "2021-08-16", "1.16": "2022-03-15", "1.17": "2022-08-02", "1.18": "2023-02-01", "1.19": "2023-09-06",
        "1.20": "2024-02-06", "1.21": "2024-08-13", "1.22": "2025-02-11", "1.23": "2025-08-12", "1.24": "2026-02-11",
    },
}  # fmt: skip
_PREFIX = re.compile(r"^(?:v|=+\s*v?|python-|ruby-|node-|php-|go|jruby-|cpython-)(?=\d)")
_VENDOR = re.compile(r"^[A-Za-z][A-Za-z_]*(?:-[A-Za-z]+)*-(\d[\w.+-]*)$")
#: As Perl counted before: 5.030 is 5.30, and 5.010001 is 5.10.1.
_PERL = re.compile(r"5\.(0\d\d)_?(\d{3})?")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_PIN = re.compile(r"^\d+(?:\.\d+)*(?:[-+.][\w.+-]*)?$")


def clean(runtime: str, value: str) -> str:
    """Return the plain version: ``v20.1.0`` is 20.1.0, ``lts/iron`` is 20, ``temurin-21.0.2+13`` is 21.0.2+13."""
    value = value.strip().strip("\"'")
    if runtime == "node":
        lower = value.lower()
        if lower in {"lts/*", "lts", "--lts", "lts/latest"}:
            return NODE_NEWEST_LTS
        if lower.startswith(("lts/", "lts-")):
            return NODE_LTS.get(lower[4:], value)
        if lower in NODE_LTS:
            return NODE_LTS[lower]
    value = _PREFIX.sub("", value)
    if runtime == "perl" and (old := _PERL.fullmatch(value)):
        value = ".".join(["5", str(int(old[1])), *([str(int(old[2]))] if old[2] else [])])
    if runtime == "elixir":
        value = re.sub(r"-otp-\d+$", "", value)
    vendor = _VENDOR.match(value) if runtime == "java" else None
    if vendor:
        value = vendor[1]
    if runtime == "java":
        value = re.sub(r"[-.](?:tem|amzn|zulu|librca|open|graal|grl|sem|oracle|ms|kona|fx)$", "", value)
        value = re.sub(r"^1\.(?=[5-8]\b)", "", value)
    return value


def is_pin(value: str) -> bool:
    return _PIN.match(value) is not None


def numbers(value: str) -> tuple[int, ...]:
    match = _NUMBER.search(value)
    return tuple(int(part[:9]) for part in match[0].split(".")[:4]) if match else ()


def end_of_life(runtime: str, value: str) -> bool | None:
    """Return whether the release line is out of support; None when unknown."""
    first = SUPPORTED_FROM.get(runtime)
    mine = numbers(value)
    if first is None or not mine or not re.match(r"^[\^~=v\s]*\d", value):
        return None
    last_day = supported_until(runtime, value)
    return last_day <= LIFECYCLES_AS_OF if last_day else mine[: len(first)] < first


def supported_until(runtime: str, value: str) -> str | None:
    """Return the last day of support of the release line, as year-month-day; None when the table does not hold it."""
    lines, mine = SUPPORTED_UNTIL.get(runtime, {}), numbers(value)
    if not mine or not re.match(r"^[\^~=v\s]*\d", value):
        return None
    return lines.get(str(mine[0])) or lines.get(".".join(map(str, (*mine[:2], 0)[:2])))


def satisfies(pin: str, wanted: str, runtime: str) -> bool | None:
    """Return whether a pin lies in a range; a short pin does when one of its versions does. None when one is not
    understood.
    """
    if not is_pin(pin):
        return None
    if runtime == "python" and re.search(r"[<>=!~]=|[<>]|~=", wanted) and "||" not in wanted and "^" not in wanted:
        return _python(pin, wanted)
    low, high = _padded(numbers(pin)), _next(numbers(pin))
    ranges = [_range(part, runtime) for part in wanted.split("||")]
    return None if None in ranges else any(max(low, one[0]) < min(high, one[1]) for one in ranges if one)


def _python(pin: str, wanted: str) -> bool | None:
    try:
        specifiers = SpecifierSet(wanted)
        version = Version(pin)
    except (InvalidSpecifier, InvalidVersion):
        return None
    if len(version.release) > 2:
        return specifiers.contains(version, prereleases=True)
    tries = [f"{version.major}.{version.minor if len(version.release) > 1 else 0}.{patch}" for patch in (0, 99)]
    return any(specifiers.contains(one, prereleases=True) for one in tries)


_COMPARATOR = re.compile(r"(\^|~>?|>=|<=|>|<|=)?v?(\d+(?:\.\d+)*)?(?:\.?[xX*](?:\.[xX*\d]+)*)?(?:[-+][\w.+-]+)?")
_SPACE_BEHIND = re.compile(r"(\^|~>?|>=|<=|>|<|=)\s+")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_FIRST, _BEYOND = (0, 0, 0, 0), (10**9,)
_JAVASCRIPT = frozenset(("node", "npm", "pnpm", "yarn", "bun", "deno"))

#: From a version to before another.
_Range = tuple[tuple[int, ...], tuple[int, ...]]


def _range(text: str, runtime: str) -> _Range | None:
    """Parse comparators that all have to hold. None when one is not understood."""
    text = _SPACE_BEHIND.sub(r"\1", text.strip().replace(",", " "))
    if text == "latest":
        return _FIRST, _BEYOND
    if hyphen := _HYPHEN.fullmatch(text):
        text = f">={hyphen[1]} <={hyphen[2]}"
    low: tuple[int, ...] = _FIRST
    high: tuple[int, ...] = _BEYOND
    for part in text.split():
        match = _COMPARATOR.fullmatch(part)
        if not match:
            return None
        if match[2]:
            one = _bounds(match[1] or "=", tuple(int(number[:9]) for number in match[2].split(".")[:4]), runtime)
            low, high = max(low, one[0]), min(high, one[1])
    return low, high


def _bounds(operator: str, stated: tuple[int, ...], runtime: str) -> _Range:
    """Return what one comparator allows: https://github.com/npm/node-semver#ranges, and where others differ."""
    if operator in {">=", "<"}:
        return (_padded(stated), _BEYOND) if operator == ">=" else (_FIRST, _padded(stated))
    if operator in {">", "<="}:
        return (_next(stated), _BEYOND) if operator == ">" else (_FIRST, _next(stated))
    fixed = len(stated)
    if operator == "^":
        fixed = next((at for at, number in enumerate(stated, 1) if number), fixed)
    elif (operator == "~>" and runtime not in _JAVASCRIPT) or (operator == "~" and runtime == "php"):
        fixed = max(1, fixed - 1)  # RubyGems, Hex, Terraform; Composer: only the last number may grow
    elif operator in {"~", "~>"}:
        fixed = min(2, fixed)
    return _padded(stated), _next(stated[:fixed])


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, *_FIRST[len(version) :])


def _next(version: tuple[int, ...]) -> tuple[int, ...]:
    """Return the first version that does not begin with these numbers."""
    return _padded((*version[:-1], version[-1] + 1))
