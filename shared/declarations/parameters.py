"""One parameter of a document, ``&[name]{type min=1}``: the values that fit it, and its JSON Schema."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time

from pydantic import JsonValue

TYPES = ("bool", "int", "num", "str", "date", "time", "datetime", "timestamp", "duration", "enum", "list", "object")
_PAIR = re.compile(r"""([A-Za-z_][\w-]*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|[^\s,}]+)|([^\s,{}=]+)""")
_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]*)\s*(?:,|$)""")
_JSON_TYPES = {"bool": "boolean", "int": "integer", "num": "number", "list": "array", "object": "object", "any": None}
_FORMATS = {"date": "date", "time": "time", "datetime": "date-time", "timestamp": "date-time", "duration": "duration"}
_MAX_MATCHED, _LONGEST_PATTERN, _MAX_PATTERN_BYTES = 10_000, 500, 1 << 20


@dataclass(frozen=True)
class Declaration:
    name: str
    type: str
    options: Mapping[str, str]
    choices: tuple[JsonValue, ...] = ()
    preset: JsonValue = field(default=None)  #: a default that is not text, from the front matter

    @property
    def default(self) -> JsonValue:
        """As it would be given. Raises: ValueError."""
        if "def" not in self.options:
            return self.preset if self.preset is None else self.fit(self.preset)
        return self.fit(self._read(self.options["def"]))

    def fit(self, value: JsonValue) -> JsonValue:
        """Return the value as the parameter's type. Raises: ValueError with the reason why it does not fit."""
        fitted = self._typed(value)
        self._within(fitted)
        return fitted

    def schema(self) -> dict[str, JsonValue]:
        """Return the parameter as a JSON Schema."""
        schema: dict[str, JsonValue] = {}
        type_ = _JSON_TYPES.get(self.type, "string" if self.type != "enum" else None)
        if type_ is not None:
            schema["type"] = type_
        if self.type in _FORMATS:
            schema["format"] = _FORMATS[self.type]
        if self.choices:
            schema["enum"] = list(self.choices)
        for name, keyword in _KEYWORDS.items():
            if name in self.options and (bound := _bound(self.options[name])) is not None:
                schema[keyword] = bound
        for name, keyword in (("pattern", "pattern"), ("label", "title")):
            if name in self.options:
                schema[keyword] = self.options[name]
        try:
            default = self.default
        except ValueError:
            default = None
        return schema if default is None else {**schema, "default": default}

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
        elif self.type in ("list", "object"):
            if not isinstance(value, list if self.type == "list" else dict):
                raise ValueError(f"it has to be {'a list' if self.type == 'list' else 'an object'}")
        elif self.type not in ("any", "enum"):
            if not isinstance(value, str):
                raise ValueError("it has to be text")
            _moment(self.type, value)
        return value

    def _within(self, value: JsonValue) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self._bounded(value)
        if isinstance(value, str):
            if self.type in ("date", "datetime", "time"):
                self._in_time(value)
            else:
                self._long_enough(value)
        if self.choices and str(value) not in map(str, self.choices):
            raise ValueError(f"it has to be one of {', '.join(map(str, self.choices))}")

    def _bounded(self, value: float) -> None:
        for name, bad, words in _BOUNDS:
            if name in self.options and bad(value, _number(self.options[name], "num")):
                raise ValueError(f"it has to be {words} {self.options[name]}")
        for name, origin in (("step", self.options.get("min", "0")), ("mult", "0")):
            step = _number(self.options.get(name, "0"), "num")
            parts = (value - _number(origin, "num")) / step if step > 0 else 0
            if abs(parts - round(parts)) > _SLACK:
                raise ValueError(f"it has to go in steps of {self.options[name]}")

    def _in_time(self, value: str) -> None:
        read = _READERS[self.type]
        for name, bad, words in _BOUNDS:
            if name not in self.options:
                continue
            try:
                outside = bad(read(value), read(self.options[name]))
            except (ValueError, TypeError):
                continue  # an invalid bound, or one of another kind of clock, is ignored
            if outside:
                raise ValueError(f"it has to be {words} {self.options[name]}")

    def _long_enough(self, value: str) -> None:
        if len(value) < _number(self.options.get("minlen", "0"), "num"):
            raise ValueError(f"it has to have at least {self.options['minlen']} characters")
        if "maxlen" in self.options and len(value) > _number(self.options["maxlen"], "num"):
            raise ValueError(f"it has to have at most {self.options['maxlen']} characters")
        pattern = self.options.get("pattern")
        if pattern is not None and len(pattern) <= _LONGEST_PATTERN:
            if len(value) > _MAX_MATCHED:
                raise ValueError(f"it has to have at most {_MAX_MATCHED:,} characters")
            if not _fits_pattern(pattern, value):
                raise ValueError(f"it has to match {pattern}")


_SLACK = 1e-9
_READERS: Mapping[str, Callable[[str], object]] = {
    "date": date.fromisoformat, "time": time.fromisoformat, "datetime": datetime.fromisoformat
}  # fmt: skip
_BOUNDS: tuple[tuple[str, Callable[..., bool], str], ...] = (
    ("min", operator.lt, "at least"),
    ("max", operator.gt, "at most"),
    ("emin", operator.le, "more than"),
    ("emax", operator.ge, "less than"),
)
_KEYWORDS = {
    "min": "minimum", "max": "maximum", "emin": "exclusiveMinimum", "emax": "exclusiveMaximum", "mult": "multipleOf",
    "minlen": "minLength", "maxlen": "maxLength",
}  # fmt: skip


def parse_declaration(name: str, text: str) -> Declaration:
    """Parse a declaration from the text in its braces; the default type follows from its bounds and default."""
    options: dict[str, str] = {}
    for match in _PAIR.finditer(text[:4000]):
        key, value, flag = match.groups()
        if key:
            options[key] = _bare(value)
        else:
            options.setdefault(flag, "true")
    type_ = next((flag for flag in options if flag in TYPES and options[flag] == "true"), "")
    choices = tuple(_bare(item) for item in _ITEM.findall(options["vals"].strip("[]"))[:1000] if item) if (
        "vals" in options
    ) else ()  # fmt: skip
    return Declaration(name, type_ or _inferred(options), options, choices)


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


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


def _fits_pattern(pattern: str, value: str) -> bool:
    """Match in linear time; a pattern with lookahead or backreferences is not checked."""
    try:
        import re2  # noqa: PLC0415 - not part of the client's installation: the server checks
    except ModuleNotFoundError:
        return True
    options = re2.Options()
    options.max_mem = _MAX_PATTERN_BYTES
    options.log_errors = False
    try:
        return bool(re2.compile(pattern, options).search(value))
    except re2.error:
        return True


def _bound(text: str) -> JsonValue:
    try:
        return _number(text, "num")
    except ValueError:
        return None


def _number(text: str, type_: str) -> int | float:
    try:
        number = int(text) if type_ == "int" or re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
    except ValueError:
        raise ValueError(f"the document's {text[:40]!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"the document's {text[:40]!r} is not a number")
    return number


def _moment(type_: str, value: str) -> None:
    reader = _READERS.get(type_)
    if reader is not None:
        try:
            reader(value)
        except ValueError:
            raise ValueError(f"it has to be a {type_} as in ISO 8601") from None
