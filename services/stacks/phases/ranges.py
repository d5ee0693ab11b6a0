"""Versions as text: cleaned of prefixes, aliases resolved, and whether a pin lies inside a range."""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

#: Node's release lines by code name, and the newest one in long-term support. As of 2026-11.
NODE_LTS = {
    "argon": "4", "boron": "6", "carbon": "8", "dubnium": "10", "erbium": "12", "fermium": "14", "gallium": "16",
    "hydrogen": "18", "iron": "20", "jod": "22", "krypton": "24",
}  # fmt: skip
NODE_NEWEST_LTS = "24"
#: The first release line of each runtime that is still supported. As of 2026-11.
SUPPORTED_FROM = {
    "node": (22,), "python": (3, 11), "ruby": (3, 3), "php": (8, 2), "dotnet": (8, 0), "go": (1, 24), "java": (8,),
    "deno": (2,), "elixir": (1, 16),
}  # fmt: skip
_PREFIX = re.compile(r"^(?:v|=+\s*v?|python-|ruby-|node-|php-|go|jruby-|cpython-)(?=\d)")
_VENDOR = re.compile(r"^[A-Za-z][A-Za-z_]*(?:-[A-Za-z]+)*-(\d[\w.+-]*)$")
#: As Perl counted before: 5.030 is 5.30, and 5.010001 is 5.10.1.
_PERL = re.compile(r"5\.(0\d\d)_?(\d{3})?")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_PIN = re.compile(r"^\d+(?:\.\d+)*(?:[-+.][\w.+-]*)?$")


def clean(runtime: str, value: str) -> str:
    """The version itself: ``v20.1.0`` is 20.1.0, ``lts/iron`` is 20, ``temurin-21.0.2+13`` is 21.0.2+13."""
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
    """Whether the release line is out of support; None when that is not known."""
    first = SUPPORTED_FROM.get(runtime)
    mine = numbers(value)
    if first is None or not mine or not re.match(r"^[\^~=v\s]*\d", value):
        return None
    return mine[: len(first)] < first


def satisfies(pin: str, wanted: str, runtime: str) -> bool | None:
    """Whether a pin lies in a range; a short pin does when some version of it does. None when one is not understood."""
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
    """Comparators that all have to hold. None when one is not understood."""
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
    """What one comparator allows: https://github.com/npm/node-semver#ranges, and where others differ."""
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
    """The first version that does not begin with these numbers."""
    return _padded((*version[:-1], version[-1] + 1))
