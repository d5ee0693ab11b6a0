"""Renders one template in a process of its own: names out first, values in, text out. Runs as a script, alone.

Nothing here has a live object: values are JSON, tables are looks, and the limits end what takes too much.
"""

from __future__ import annotations

import hashlib
import json
import math
import resource
import sys
from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

SOURCE, OUTPUT, NAMES = 64_000, 200_000, 64
_MEMORY = 256 << 20
_LONGEST = 1_000_000
_JSON = 2_000
_STRING = frozenset(
    [
        "capitalize",
        "casefold",
        "count",
        "endswith",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isdigit",
        "islower",
        "isnumeric",
        "isspace",
        "istitle",
        "isupper",
        "join",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "upper",
    ]
)


class Table:
    """A look at a table."""

    def __init__(self, seen: dict[str, Any]) -> None:
        self.columns = [column["name"] for column in seen["columns"]]
        self.shape = (seen["rows"], len(self.columns))
        self.types = [column["type"] for column in seen["columns"]]
        self.head = seen["head"]
        self.text = seen["text"]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __str__(self) -> str:
        return str(self.text)

    def __iter__(self) -> Any:
        return iter([dict(zip(self.columns, row, strict=False)) for row in self.head])


class Other:
    """A value that has no plain form: its own text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["*", "**", "%", "+", "//", "/"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and (abs(left) > 1_000_000 or abs(right) > 100):
            raise SecurityError("that power is too large")
        if operator == "*":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, (str, list, tuple)) and len(one) * max(int(other), 0) > OUTPUT:
                    raise SecurityError("that text is too long")
        if operator == "%" and isinstance(left, str):
            raise SecurityError("texts are not formatted with %")
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, (str, list, tuple)) and len(result) > _LONGEST:
            raise SecurityError("that text is too long")
        return result

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict):
            if attribute in obj:
                return obj[attribute]
            if attribute in ("items", "keys", "values", "get"):
                return getattr(obj, attribute)
            return self.undefined(obj=obj, name=attribute)
        if isinstance(obj, Table):
            if attribute in ("columns", "shape", "types"):
                return getattr(obj, attribute)
            return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str):
            return attr in _STRING
        if isinstance(obj, (list, tuple)):
            return attr in ("count", "index")
        # Everything else is the machinery of a template: its loops, its macros, its namespaces.
        return type(obj).__module__.startswith("jinja2") and super().is_safe_attribute(obj, attr, value)


def plain(value: Any) -> Any:
    if isinstance(value, Table):
        return [dict(zip(value.columns, row, strict=False)) for row in value.head]
    return str(value) if isinstance(value, Other) else value


def as_json(value: Any, most: int = 100_000) -> str:
    return cut(json.dumps(plain(value), ensure_ascii=False, separators=(", ", ": ")), most)


def cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} ... {len(text) - 2 * half} more characters ... {text[-half:]}"


def head(value: Any, count: int = 5) -> Any:
    count = max(0, min(int(count), 100))
    if not isinstance(value, Table):
        return value[:count]
    lines = [" | ".join(value.columns), *(" | ".join(str(cell)[:40] for cell in row) for row in value.head[:count])]
    return "\n".join(lines)


def schema(value: Any) -> str:
    if isinstance(value, Table):
        return ", ".join(f"{name}: {kind}" for name, kind in zip(value.columns, value.types, strict=True))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {type(inner).__name__}" for key, inner in value.items())
    return type(value).__name__


def full(value: Any) -> str:
    return text_of(value, OUTPUT)


def text_of(value: Any, most: int = _JSON) -> str:
    if isinstance(value, (dict, list, tuple)):
        return as_json(value, most)
    if isinstance(value, (str, int, float, Table, Other)) or value is None:
        return str(value)
    if type(value).__module__.startswith("markupsafe"):
        return str(value)
    raise SecurityError(f"a {type(value).__name__} cannot stand in a message")


class Delimiter:
    """Data over one line stands between marks that occur in none of the values."""

    def __init__(self, given: str) -> None:
        self.given = given
        self.mark = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:16]
        while self.mark in given:
            self.mark = hashlib.sha256(self.mark.encode()).hexdigest()[:16]

    def wrap(self, value: Any) -> str:
        text = text_of(value).replace(self.mark, "")
        return f"<data-{self.mark}>\n{text}\n</data-{self.mark}>"

    def finalize(self, value: Any) -> Any:
        if isinstance(value, StrictUndefined):
            return value  # printing it says which name there is not
        text = text_of(value)
        if ("\n" in text or "\r" in text) and not text.startswith(f"<data-{self.mark}>\n"):
            return self.wrap(text)
        return text


def environment() -> Environment:
    made = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, optimized=False)
    for name in ("lipsum", "cycler", "joiner"):
        made.globals.pop(name, None)
    made.globals["range"] = _range
    for name in ("xmlattr", "urlize", "pprint", "filesizeformat", "center", "indent", "format", "wordwrap", "attr"):
        made.filters.pop(name, None)
    made.filters.update({"json": as_json, "tojson": as_json, "head": head, "schema": schema, "full": full})
    return made


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if len(made) > 10_000:
        raise SecurityError("that range is too long")
    return made


def names_in(tree: nodes.Template) -> list[str]:
    """Names that are read, in order; those that the template itself sets are among them and do no harm."""
    return list(dict.fromkeys(node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"))


def value_of(seen: dict[str, Any]) -> Any:
    if seen["kind"] == "table":
        return Table(seen)
    if seen["kind"] == "text":
        return Other(seen["text"])
    value = seen["json"]
    return int(value) if seen.get("whole") and isinstance(value, float) and math.isfinite(value) else value


def limit() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 2
    with open("/proc/self/statm") as sizes:
        size = int(sizes.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, size + _MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def main() -> None:
    answer = _speaker()
    limit()
    answer({"ready": True})
    try:
        source = json.loads(sys.stdin.readline())["source"]
        if len(source) > SOURCE:
            raise SecurityError(f"it is longer than {SOURCE} characters")
        made = environment()
        names = names_in(made.parse(source))
        if len(names) > NAMES:
            raise SecurityError(f"it uses more than {NAMES} names")
        answer({"names": names})
        line = sys.stdin.readline()
        given = json.loads(line)
        delimiter = Delimiter(source + line)
        made.finalize = delimiter.finalize
        made.filters["data"] = delimiter.wrap
        values = {name: value_of(seen) for name, seen in given["values"].items()}
        parts: list[str] = []
        size = 0
        for part in made.from_string(source).generate(values):
            size += len(part)
            if size > OUTPUT:
                raise SecurityError(f"it renders to more than {OUTPUT} characters")
            parts.append(part)
        answer({"text": "".join(parts)})
    except TemplateError as error:
        answer({"error": str(error.message or type(error).__name__)[:500], "type": type(error).__name__})
    except (MemoryError, RecursionError) as error:
        answer({"error": "it takes too much memory", "type": type(error).__name__})
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"[:500], "type": type(error).__name__})


def _speaker() -> Callable[[object], None]:
    def speak(message: object) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    return speak


if __name__ == "__main__":
    main()
