"""Prompt texts as templates: sandboxed, strict about names, bounded in size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import JsonValue

from shared.bounded_process import BoundExceeded, Bounds
from shared.errors import InternalError, InvalidRequest

_MAX_CHARACTERS = 4_000_000  #: characters of a rendered prompt
#: Python's representation of a function or object holds its memory address.
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}>")
#: Bounds of a template that a caller brings.
TRIAL_BOUNDS = Bounds(memory_mb=256, cpu_seconds=2.0, wall_seconds=20.0, output_mb=32)


class PromptBroken(InvalidRequest):
    code, title = "prompt_broken", "Invalid prompt template"
    cause = "The text is not a valid template."
    remedy = "`detail` names the line; docs/llm.md describes the syntax."


class PromptVariableUnknown(InvalidRequest):
    code, title = "prompt_variable_unknown", "Unknown prompt variable"
    cause = "The prompt uses a variable that the kind does not provide."
    remedy = "`GET /v1/prompts/KEY` lists the variables."


class PromptVariableMissing(InvalidRequest):
    code, title = "prompt_variable_missing", "Missing prompt variable"
    cause = "The prompt leaves out a variable that the kind requires."
    remedy = "Add the variable that `errors` names."


class PromptNotRendered(InternalError):
    code, title = "prompt_not_rendered", "Prompt rendering failed"
    cause = "A published prompt failed to render."
    remedy = "Roll it back: `assay prompts rollback KEY`."


@dataclass(frozen=True)
class TemplateVariables:
    required: frozenset[str]
    optional: frozenset[str]  #: only used where a condition or a default allows for their absence


_environment = ImmutableSandboxedEnvironment(
    loader=DictLoader({}),  # nothing can be included
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
    autoescape=False,
    optimized=False,  # the compiler would compute what is constant, however long it takes
)
for _name in ("lipsum", "cycler", "joiner"):
    _environment.globals.pop(_name, None)


@lru_cache(maxsize=512)
def variables(text: str) -> TemplateVariables:
    """Return the names that a text uses. Raises: PromptBroken."""
    if "\x00" in text:
        raise PromptBroken("It holds a NUL character.", [(["body", "text"], "NUL is not allowed")])
    tree = _parse(text)
    names = meta.find_undeclared_variables(tree)
    required = names & set(_needed(tree, frozenset()))
    return TemplateVariables(frozenset(required), frozenset(names - required))


def check(text: str, default: str) -> None:
    """Check that a text may replace the default one: it has the same variables, and it renders.

    Raises: PromptBroken, PromptVariableUnknown, PromptVariableMissing.
    """
    allowed, used = variables(default), variables(text)
    unknown = (used.required | used.optional) - allowed.required - allowed.optional
    if unknown:
        names, known = _list(unknown), _list(allowed.required | allowed.optional) or "none"
        raise PromptVariableUnknown(
            f"Unknown: {names}. The variables are: {known}.",
            [(["body", "text"], f"uses variables that this prompt does not have: {names}; it has {known}")],
        )
    missing = allowed.required - used.required - used.optional
    if missing:
        names = _list(missing)
        raise PromptVariableMissing(
            f"Required, and not used: {names}.", [(["body", "text"], f"must use the variables {names}")]
        )
    try:
        _fill(_template(text), {name: _Anything("x") for name in allowed.required | allowed.optional})
    except (TypeError, ValueError, ArithmeticError):
        pass  # the value that was tried is not the one that will come
    except (TemplateError, RecursionError) as error:
        raise PromptBroken(f"It cannot be filled in: {_words(error)}", [(["body", "text"], _words(error))]) from None


def render(text: str, values: Mapping[str, object]) -> str:
    """Return the text with its variables filled in; a missing optional one is empty. Raises: PromptNotRendered."""
    absent: dict[str, object] = dict.fromkeys(variables(text).optional)
    try:
        return _fill(_template(text), absent | dict(values))
    except (TemplateError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise PromptNotRendered(f"It cannot be filled in: {_words(error)}") from None


def try_template(argument: JsonValue) -> JsonValue:
    """Render a caller's ``text`` with its ``values``, checked against the ``default``; runs in a bounded process.

    Returns ``rendered``, and ``before``: the ``old`` text with its ``old_values``, where one is given. Else ``error``.
    """
    given = cast(dict[str, JsonValue], argument)
    text, values = str(given["text"]), cast(dict[str, object], given["values"])
    try:
        check(text, str(given["default"]))
        if missing := sorted(variables(text).required - set(values)):
            detail = f"give a value for {', '.join(missing)}"
            raise InvalidRequest(f"variables: {detail}.", [(["body", "variables"], detail)])
        answer: dict[str, JsonValue] = {"rendered": _rendered(text, values), "before": None}
        old, old_values = given["old"], cast(dict[str, object], given["old_values"])
        if old is not None and variables(str(old)).required <= set(old_values):
            answer["before"] = _rendered(str(old), old_values)
        return answer
    except InvalidRequest as error:
        return {"error": {"code": error.code, "detail": error.detail, "errors": error.extra.get("errors")}}


def check_template(argument: JsonValue) -> JsonValue:
    """Check the ``text`` against the ``default``, in a bounded process; return None, or ``error``."""
    given = cast(dict[str, str], argument)
    try:
        check(given["text"], given["default"])
    except InvalidRequest as error:
        return {"error": {"code": error.code, "detail": error.detail, "errors": error.extra.get("errors")}}
    return None


def answered(answer: JsonValue) -> Mapping[str, JsonValue]:
    """Return the result of ``try_template`` or ``check_template``, or raise the InvalidRequest that it holds."""
    members = cast(dict[str, JsonValue], answer or {})
    error = cast("dict[str, JsonValue] | None", members.get("error"))
    if error is None:
        return members
    kinds = {each.code: each for each in (PromptBroken, PromptVariableUnknown, PromptVariableMissing)}
    fields = cast(list[dict[str, object]], error["errors"] or [])
    errors = [(cast("list[str | int]", field["loc"]), str(field["msg"])) for field in fields]
    raise kinds.get(str(error["code"]), InvalidRequest)(str(error["detail"]), errors)


def too_costly(exceeded: BoundExceeded) -> PromptBroken:
    """Return the error for a template that exceeds its bounds."""
    detail = f"It cannot be filled in: {exceeded}. Leave out large powers, products and loops."
    return PromptBroken(detail, [(["body", "text"], str(exceeded))])


def _rendered(text: str, values: Mapping[str, object]) -> str:
    """Render a trial text, whose failure is the caller's. Raises: PromptBroken."""
    try:
        return render(text, values)
    except PromptNotRendered as error:
        raise PromptBroken(error.detail, [(["body", "text"], error.detail)]) from None


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    return _environment.from_string(text)


def _parse(text: str) -> nodes.Template:
    try:
        _environment.from_string(text)  # some mistakes show only when it is compiled
        return _environment.parse(text)
    except (TemplateSyntaxError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise PromptBroken(f"Line {line}: {_words(error)}", [(["body", "text"], _words(error))]) from None


def _fill(template: Template, values: Mapping[str, object]) -> str:
    parts, size = [], 0
    for part in template.generate(values):
        size += len(part)
        if size > _MAX_CHARACTERS:
            raise ValueError(f"it is longer than {_MAX_CHARACTERS} characters")
        parts.append(part)
    text = "".join(parts)
    if _ADDRESS.search(text) and not any(_ADDRESS.search(str(value)) for value in values.values()):
        raise ValueError("it shows something that is not text, such as a function")
    return text


def _needed(node: nodes.Node, guarded: frozenset[str]) -> Iterator[str]:
    """Yield the names that must be given: those used outside of a condition on their presence."""
    if isinstance(node, nodes.Name) and node.name not in guarded:
        yield node.name
    elif isinstance(node, (nodes.If, nodes.CondExpr)):
        asked = _asked_about(node.test)
        if asked is None:
            yield from _needed(node.test, guarded)
        inside = guarded | (asked or frozenset())
        for child in node.iter_child_nodes(exclude=("test",)):
            yield from _needed(child, inside)
    elif isinstance(node, nodes.Filter) and node.name in ("default", "d") and isinstance(node.node, nodes.Name):
        for argument in node.args:
            yield from _needed(argument, guarded)
    else:
        for child in node.iter_child_nodes():
            yield from _needed(child, guarded)


def _asked_about(test: nodes.Node) -> frozenset[str] | None:
    """Return the names whose presence a condition tests; None when it tests anything else."""
    match test:
        case nodes.Name(name=name):
            return frozenset({name})
        case nodes.Not(node=inner) | nodes.Test(node=inner, name="defined" | "undefined" | "none"):
            return _asked_about(inner)
        case nodes.And(left=left, right=right) | nodes.Or(left=left, right=right):
            first, second = _asked_about(left), _asked_about(right)
            return None if first is None or second is None else first | second
        case _:
            return None


class _Anything(str):
    """Placeholder for any value while a text is tried."""

    __slots__ = ()

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> _Anything:
        return self

    def __call__(self, *args: object, **kwargs: object) -> _Anything:
        return self

    def __iter__(self) -> Iterator[_Anything]:
        yield self


def _list(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _words(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:300]
