"""Prompt texts as templates: sandboxed, strict about names, bounded in size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from shared.errors import InternalError, InvalidRequest

_MAX_CHARACTERS = 4_000_000  #: characters of a rendered prompt


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
)


@lru_cache(maxsize=512)
def variables(text: str) -> TemplateVariables:
    """The names that a text uses. Raises: PromptBroken."""
    if "\x00" in text:
        raise PromptBroken("It holds a NUL character.", [(["body", "text"], "NUL is not allowed")])
    tree = _parse(text)
    names = meta.find_undeclared_variables(tree)
    required = names & set(_needed(tree, frozenset()))
    return TemplateVariables(frozenset(required), frozenset(names - required))


def check(text: str, default: str) -> None:
    """Whether a text may stand for the default one: the same variables, and it renders.

    Raises: PromptBroken, PromptVariableUnknown, PromptVariableMissing.
    """
    allowed, used = variables(default), variables(text)
    unknown = (used.required | used.optional) - allowed.required - allowed.optional
    if unknown:
        names, known = _list(unknown), _list(allowed.required | allowed.optional) or "none"
        raise PromptVariableUnknown(
            f"Unknown: {names}. The variables are: {known}.", [(["body", "text"], f"unknown: {names}")]
        )
    missing = allowed.required - used.required - used.optional
    if missing:
        names = _list(missing)
        raise PromptVariableMissing(f"Required, and not used: {names}.", [(["body", "text"], f"missing: {names}")])
    try:
        _fill(_template(text), {name: _Anything("x") for name in allowed.required | allowed.optional})
    except (TypeError, ValueError, ArithmeticError):
        pass  # the value that was tried is not the one that will come
    except (TemplateError, RecursionError) as error:
        raise PromptBroken(f"It cannot be filled in: {_words(error)}", [(["body", "text"], _words(error))]) from None


def render(text: str, values: Mapping[str, object]) -> str:
    """The text with its variables filled in; an optional one that is not given is empty. Raises: PromptNotRendered."""
    absent: dict[str, object] = dict.fromkeys(variables(text).optional)
    try:
        return _fill(_template(text), absent | dict(values))
    except (TemplateError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise PromptNotRendered(f"It cannot be filled in: {_words(error)}") from None


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
    return "".join(parts)


def _needed(node: nodes.Node, guarded: frozenset[str]) -> Iterator[str]:
    """Names that have to be there: not only asked about, and not only used where their absence was asked about."""
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
    """The names whose presence a condition asks about; None when it asks for anything else."""
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
    """Stands for any value while a text is tried out."""

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
