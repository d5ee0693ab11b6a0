"""The parameters that a document declares, ``&[name]{type min=1}``, and the values that fit them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from pydantic import JsonValue

TYPES = ("bool", "int", "num", "str", "date", "time", "datetime", "timestamp", "duration", "enum")
DECLARED = re.compile(r"&\[([A-Za-z_]\w{0,99})\](?:\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')*)\})?")
_PAIR = re.compile(r"""([A-Za-z_][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|([^\s,{}=]+)""")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)[^`]*\1(?!`)")


@dataclass(frozen=True)
class Declared:
    name: str
    type: str
    options: Mapping[str, str]

    @property
    def default(self) -> JsonValue:
        """As it would be given. Raises: ValueError."""
        if "def" not in self.options:
            return None
        return self.fit(self._read(self.options["def"]))

    def fit(self, value: JsonValue) -> JsonValue:
        """The value as the parameter's type. Raises: ValueError with plain words."""
        fitted = self._typed(value)
        self._within(fitted)
        return fitted

    def _read(self, text: str) -> JsonValue:
        if self.type == "bool":
            return text.lower() in ("true", "yes", "1")
        if self.type in ("int", "num"):
            return _number(text, self.type)
        return text

    def _typed(self, value: JsonValue) -> JsonValue:
        if self.type == "bool":
            if not isinstance(value, bool):
                raise ValueError("it has to be true or false")
        elif self.type in ("int", "num"):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError("it has to be a number")
            if self.type == "int" and float(value) != math.floor(value):
                raise ValueError("it has to be a whole number")
            return int(value) if self.type == "int" else value
        elif self.type != "any":
            if self.type == "enum" and not isinstance(value, str):
                return value
            if not isinstance(value, str):
                raise ValueError("it has to be text")
            _moment(self.type, value)
        return value

    def _within(self, value: JsonValue) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self._bounded(value)
        if isinstance(value, str):
            self._long_enough(value)
        if "vals" in self.options:
            values = [part.strip().strip("\"'") for part in self.options["vals"].strip("[]").split(",")]
            if str(value) not in values:
                raise ValueError(f"it has to be one of {', '.join(values)}")

    def _bounded(self, value: float) -> None:
        for name, bad, words in _BOUNDS:
            if name in self.options and bad(value, _number(self.options[name], "num")):
                raise ValueError(f"it has to be {words} {self.options[name]}")
        for name, origin in (("step", self.options.get("min", "0")), ("mult", "0")):
            step = _number(self.options.get(name, "0"), "num")
            parts = (value - _number(origin, "num")) / step if step > 0 else 0
            if abs(parts - round(parts)) > _SLACK:
                raise ValueError(f"it has to go in steps of {self.options[name]}")

    def _long_enough(self, value: str) -> None:
        if len(value) < _number(self.options.get("minlen", "0"), "num"):
            raise ValueError(f"it has to have at least {self.options['minlen']} characters")
        if "maxlen" in self.options and len(value) > _number(self.options["maxlen"], "num"):
            raise ValueError(f"it has to have at most {self.options['maxlen']} characters")


_SLACK = 1e-9
_BOUNDS: tuple[tuple[str, Callable[[float, float], bool], str], ...] = (
    ("min", operator.lt, "at least"),
    ("max", operator.gt, "at most"),
    ("emin", operator.le, "more than"),
    ("emax", operator.ge, "less than"),
)


def declared(name: str, text: str) -> Declared:
    """A declaration from what stands in its braces; without a type, from its bounds and default."""
    options: dict[str, str] = {}
    for match in _PAIR.finditer(text[:4000]):
        key, value, flag = match.groups()
        if key:
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            options[key] = value[1:-1] if quoted else value
        else:
            options.setdefault(flag, "true")
    type_ = next((flag for flag in options if flag in TYPES and options[flag] == "true"), "")
    return Declared(name, type_ or _inferred(options), options)


def in_text(markdown: str) -> Iterator[Declared]:
    """Every declaration outside of code, the first of each name."""
    known: set[str] = set()
    fence = ""
    for line in markdown.split("\n"):
        if match := _FENCE.match(line):
            mark, rest = match.groups()
            if fence and mark.startswith(fence) and not rest.strip():
                fence = ""
            elif not fence:
                fence = mark
            continue
        if fence or "&[" not in line or len(line) > 20_000:
            continue
        for match in DECLARED.finditer(_SPAN.sub(lambda span: " " * len(span[0]), line)):
            if match[1] not in known:
                known.add(match[1])
                yield declared(match[1], match[2] or "")


def wrong(markdown: str, given: Mapping[str, JsonValue]) -> str | None:
    """What is wrong with the values given, in plain words."""
    if not given:
        return None
    known = {one.name: one for one in in_text(markdown)}
    for name, value in given.items():
        if name not in known:
            if known or not re.fullmatch(r"[A-Za-z_]\w{0,99}", name):
                return f"the document has no parameter {name[:100]!r}; it has {', '.join(known) or 'none'}"
            continue
        try:
            known[name].fit(value)
        except ValueError as error:
            return f"parameter {name!r}: {error}"
    return None


def _inferred(options: Mapping[str, str]) -> str:
    if "vals" in options:
        return "enum"
    if {"minlen", "maxlen", "pattern"} & set(options):
        return "str"
    sample = options.get("def") or options.get("min") or options.get("max")
    if sample is None:
        return "any"
    if sample.lower() in ("true", "false"):
        return "bool"
    try:
        float(sample)
    except ValueError:
        return "str"
    numbers = [options[name] for name in ("def", "min", "max", "step") if name in options]
    return "int" if all(re.fullmatch(r"[+-]?\d+", number) for number in numbers) else "num"


def _number(text: str, type_: str) -> int | float:
    try:
        return int(text) if type_ == "int" or re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
    except ValueError:
        raise ValueError(f"the document's {text[:40]!r} is no number") from None


def _moment(type_: str, value: str) -> None:
    readers = {"date": date.fromisoformat, "time": time.fromisoformat, "datetime": datetime.fromisoformat}
    reader = readers.get(type_)
    if reader is not None:
        try:
            reader(value)
        except ValueError:
            raise ValueError(f"it has to be a {type_} as in ISO 8601") from None
