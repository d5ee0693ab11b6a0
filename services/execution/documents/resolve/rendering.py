"""Renders each template in a fork of its own: names out first, values in, text out. Runs in a process of its own.

Nothing here has a live object: values are JSON, tables are looks, and limits end what takes too much. The process that
forks reads no template; each fork reads one and ends.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from services.execution.documents.resolve.template_values import (
    OUTPUT,
    Other,
    TableLook,
    as_json,
    full,
    head,
    image,
    schema,
    text_of,
    value_of,
)

SOURCE, NAMES = 64_000, 64
_MEMORY, _SECONDS = 256 << 20, 1.0
_LONGEST = 1_000_000
_MAX_PLACES = 500
_LABEL = "of these names"  #: a filter that no template can name
_STRING = frozenset(
    ("capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower",
     "isnumeric", "isspace", "istitle", "isupper", "join", "lower", "lstrip", "partition", "removeprefix",
     "removesuffix", "replace", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
     "swapcase", "title", "upper")
)  # fmt: skip


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
        if isinstance(obj, TableLook) and attribute in ("columns", "shape", "types"):
            return getattr(obj, attribute)
        if isinstance(obj, (TableLook, Other)):
            return self.undefined(f"only what it shows is known of such a value: there is no attribute {attribute!r}")
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str):
            return attr in _STRING
        if isinstance(obj, (list, tuple)):
            return attr in ("count", "index")
        # Everything else is the machinery of a template: its loops, its macros, its namespaces.
        return type(obj).__module__.startswith("jinja2") and super().is_safe_attribute(obj, attr, value)


class Delimiter:
    """The marks around data of more than one line, which occur in none of the values."""

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
    made.filters.update(
        {"json": as_json, "tojson": as_json, "head": head, "schema": schema, "full": full, "image": image}
    )
    return made


def _range(*bounds: int) -> range:
    made = range(*bounds)
    if len(made) > 10_000:
        raise SecurityError("that range is too long")
    return made


def names_in(tree: nodes.Template) -> list[str]:
    """Names that are read, in request; those that the template itself sets are among them and do no harm."""
    return list(dict.fromkeys(node.name for node in tree.find_all(nodes.Name) if node.ctx == "load"))


def wanted_whole(tree: nodes.Template) -> list[str]:
    """Return the names of which a filter may want more than the first rows."""
    filters = [node for node in tree.find_all(nodes.Filter) if node.name in ("full", "json", "tojson", "head")]
    return list(dict.fromkeys(name.name for node in filters for name in node.find_all(nodes.Name)))


def compiled(made: Environment, tree: nodes.Template) -> Template:
    """From the tree that was parsed for its names."""
    return Template.from_code(made, made.compile(tree), made.make_globals(None))


def limit() -> None:
    """One second of processor time, exactly, and a bound on memory beyond what a fork begins with."""
    with open("/proc/self/statm") as sizes:
        size = int(sizes.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, size + _MEMORY),
        (resource.RLIMIT_CPU, int(_SECONDS) + 1),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)  # its signal ends the process, also within a call of C


def serve(made: Environment, connection: socket.socket) -> None:
    """Serve one template: send its names, receive their values, send its text."""

    def send(message: object) -> None:
        connection.sendall(json.dumps(message).encode() + b"\n")

    try:
        received = connection.makefile("rb")
        source = json.loads(received.readline() or "{}").get("source")
        if source is None:
            return  # this fork was not needed
        if len(source) > SOURCE:
            raise SecurityError(f"it is longer than {SOURCE} characters")
        tree = made.parse(source)
        names = names_in(tree)
        if len(names) > NAMES:
            raise SecurityError(f"it uses more than {NAMES} names")
        send({"names": names, "whole": wanted_whole(tree)})
        send(filled(made, tree, source, received.readline().decode()))
    except TemplateError as error:
        send({"error": str(error.message or type(error).__name__)[:500], "type": type(error).__name__})
    except (MemoryError, RecursionError) as error:
        send({"error": "it takes too much memory", "type": type(error).__name__})
    except Exception as error:
        send({"error": _described(error)[:500], "type": type(error).__name__})


class ExpressionSpans:
    """Where the values of a template's expressions stand in its text: [from, to, names], in characters."""

    def __init__(self, delimiter: Delimiter) -> None:
        self.found: list[tuple[int, int, str]] = []
        self._delimiter = delimiter
        self._names: str | None = None
        self._text: Any = None

    def label(self, made: Environment, tree: nodes.Template) -> None:
        """Let every expression that is written out say its names first."""
        made.filters[_LABEL] = self._of
        for output in tree.find_all(nodes.Output):
            output.nodes = [self._labelled(node) for node in output.nodes]
        tree.set_environment(made)

    def finalize(self, value: Any) -> Any:
        self._text = self._delimiter.finalize(value)
        return self._text

    def add(self, part: str, start: int) -> None:
        """A part of the text: words of the template, or the value that was just made ready."""
        if self._names and part and part == self._text and len(self.found) < _MAX_PLACES:
            self.found.append((start, start + len(part), self._names))
        self._names = self._text = None

    def _of(self, value: Any, names: str) -> Any:
        self._names = names
        return value

    def _labelled(self, node: nodes.Expr) -> nodes.Expr:
        names = list(dict.fromkeys(name.name for name in _with_children(node)))
        if not names:
            return node
        label = nodes.Const(", ".join(names)[:200], lineno=node.lineno)
        return nodes.Filter(node, _LABEL, [label], [], None, None, lineno=node.lineno)


def _with_children(node: nodes.Expr) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


def filled(made: Environment, tree: nodes.Template, source: str, given: str) -> dict[str, Any]:
    """Return the text, the figures in it, and where its values stand."""
    delimiter = Delimiter(source + given)
    places = ExpressionSpans(delimiter)
    places.label(made, tree)
    made.finalize = places.finalize
    made.filters["data"] = delimiter.wrap
    figures: list[str] = []
    values = {name: value_of(name, seen, figures) for name, seen in json.loads(given)["values"].items()}
    parts: list[str] = []
    size = 0
    for part in compiled(made, tree).generate(values):
        places.add(part, size)
        size += len(part)
        if size > OUTPUT:
            raise SecurityError(f"it renders to more than {OUTPUT} characters")
        parts.append(part)
    return {"text": "".join(parts), "figures": figures, "spans": places.found}


def prewarm(made: Environment) -> None:
    """The first message builds what all need; in a fork it copies the shared memory before the limits hold."""
    source = "Of {{ a }}{% for i in b %}{{ i | upper }}{% endfor %}"
    tree = made.parse(source)
    if names_in(tree) and not wanted_whole(tree):
        filled(made, tree, source, '{"values": {"a": {"kind": "json", "json": 1}, "b": {"kind": "json", "json": "b"}}}')


def forked(made: Environment, connection: socket.socket) -> None:
    """Render one message in the fork, and end."""
    try:
        prewarm(made)
        limit()
        serve(made, connection)
    finally:
        os._exit(0)


def start(descriptor: int) -> None:
    """Fork for a request that brings a socket, end the fork of one that brings none, until the other side closes."""
    requests = socket.socket(fileno=descriptor)
    made = environment()
    prewarm(made)
    gc.collect()
    gc.freeze()
    gc.disable()  # a fork lives for one message
    forks: dict[int, int] = {}
    while True:
        request, sockets, _, _ = socket.recv_fds(requests, 64, 1)
        if not request:
            return
        number = int(request)
        if sockets:
            with suppress(OSError):  # without a fork the socket is closed, and the other side sees that
                forks[number] = os.fork()
                if forks[number] == 0:
                    requests.close()
                    forked(made, socket.socket(fileno=sockets[0]))
            os.close(sockets[0])
        elif number in forks:
            os.kill(forks[number], signal.SIGKILL)
            os.waitpid(forks.pop(number), 0)


def _described(error: Exception) -> str:
    text = str(error)
    if isinstance(error, TypeError) and "no loader" in text:
        return "include, import and extends have nothing to read here"
    if isinstance(error, TypeError) and "Undefined" in text:
        return "a part of it is undefined"
    return f"{type(error).__name__}: {text}"
