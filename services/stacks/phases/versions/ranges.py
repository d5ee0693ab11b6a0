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
    """Whether a pin lies in a range; None when either cannot be understood."""
    if not is_pin(pin):
        return None
    if runtime == "python" and re.search(r"[<>=!~]=|[<>]|~=", wanted) and "||" not in wanted and "^" not in wanted:
        return _python(pin, wanted)
    results = [_all(numbers(pin), part) for part in wanted.split("||")]
    return None if any(one is None for one in results) else any(results)


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


_COMPARATOR = re.compile(
    r"^(\^|~>?|>=|<=|>|<|=|v)?\s*v?(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?:[-+][\w.+-]+)?$"
)


def _all(pin: tuple[int, ...], text: str) -> bool | None:
    text = re.sub(r"(\^|~>?|>=|<=|>|<|=)\s+", r"\1", text.strip().replace(",", " "))
    if text in {"", "*", "x", "latest"}:
        return True
    if hyphen := re.match(r"^(\S+)\s+-\s+(\S+)$", text):
        text = f">={hyphen[1]} <={hyphen[2]}"
    for part in text.split():
        match = _COMPARATOR.match(part)
        if not match:
            return None
        stated = tuple(int(part) for part in match.groups()[1:] if part and part.isdigit())
        if not _one(pin, match[1] or "=", stated):
            return False
    return True


def _one(pin: tuple[int, ...], operator: str, stated: tuple[int, ...]) -> bool:
    """Compare as far as the pin goes: 20 satisfies ``>=20.9`` because some 20 does."""
    length = min(len(pin), len(stated))
    left, right = pin[:length], stated[:length]
    if operator == ">=":
        return left >= right
    if operator == "<=":
        return left <= right
    if operator in {"<", ">"}:
        open_end = len(pin) < len(stated)  # some 20 is above 20.1, and some is below
        return (left > right if operator == ">" else left < right) or (left == right and open_end)
    if operator == "^":
        fixed = next((i for i, number in enumerate(stated) if number), len(stated) - 1) + 1
        return left[:fixed] == right[:fixed] and left >= right
    if operator in {"~", "~>"}:
        fixed = max(1, len(stated) - 1) if operator == "~>" or len(stated) > 1 else 1
        fixed = min(2, fixed) if operator == "~" else fixed
        return left[:fixed] == right[:fixed] and left >= right
    return left == right
