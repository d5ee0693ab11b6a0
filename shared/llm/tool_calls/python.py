"""Calls written as code, in Python or JavaScript: read by the syntax tree, never run; all arguments are literals."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from shared.llm.json_text import AnswerUnreadable
from shared.llm.tool_calls.known import KnownTools, Params

MAX_CODE = 100_000  #: characters

_CONSTANTS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "undefined": None, "none": None}
_DECLARED = re.compile(r"^(\s*)(?:const|let|var)\s+(?=\w)", re.MULTILINE)
_AWAITED = re.compile(r"(?<![\w.])await\s+")
_TEMPLATE = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|`([^`$]*)`")
#: ``(label: "A")``, as Ruby, Swift and Kotlin name arguments.
_NAMED_BY_COLON = re.compile(r"(?<=\w)\((\s*[A-Za-z_]\w*\s*:[^:].{0,2000}?)\)(?=\s*(?:[;,\])]|\n|\Z))", re.DOTALL)
#: Functions that only pass on what they are given.
_PASSING = frozenset(
    {"print", "console.log", "Promise.all", "Promise.allSettled", "asyncio.gather", "asyncio.run", "list"}
)
_STRINGS = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_SLASHES = re.compile(rf"({_STRINGS})|(?<!:)//[^\n]*|/\*.*?\*/", re.DOTALL)

NamedParams = tuple[str, Params]


class _NotCode(Exception):
    """The text is not a list of calls."""


def calls_in_code(text: str, known: KnownTools, *, any_name: bool = False) -> list[NamedParams] | None:
    """Return the calls of a text that is nothing but calls with literal arguments, None when it is something else.

    ``any_name`` takes calls of unknown functions too.
    """
    code = _DECLARED.sub(r"\1", _AWAITED.sub("", _SLASHES.sub(lambda match: match[1] or " ", text))).strip()
    if not code or len(text) > MAX_CODE or "(" not in code:
        return None
    if "`" in code:
        code = _TEMPLATE.sub(lambda match: match[1] or json.dumps(match[2]), code)
    tree = _tree(code) or (_tree(_NAMED_BY_COLON.sub(r"({\1})", code)) if ":" in code else None)
    if tree is None:
        return None
    try:
        return [call for statement in tree.body for call in _statement(statement, known, any_name)] or None
    except (ValueError, RecursionError, _NotCode):
        return None


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statement(statement: ast.stmt, known: KnownTools, any_name: bool) -> Iterator[NamedParams]:
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)):
        return
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign)) and statement.value is not None:
        yield from _expression(statement.value, known, any_name)
        return
    raise _NotCode


def _expression(node: ast.expr, known: KnownTools, any_name: bool) -> Iterator[NamedParams]:
    if isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _expression(element, known, any_name)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return  # a docstring or a heading between the calls
    if not isinstance(node, ast.Call):
        raise _NotCode
    written = _dotted(node.func)
    if written in _PASSING and node.args and not node.keywords:
        for argument in node.args:
            yield from _expression(argument, known, any_name)
        return
    if written not in known and not any_name:
        raise _NotCode
    name = known.resolve(written)
    yield name, known.fitted(name, _arguments(node, name, known))


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise _NotCode
    return ".".join([node.id, *reversed(parts)])


def _arguments(call: ast.Call, name: str, known: KnownTools) -> Params:
    params: Params = {}
    positional = [_literal(argument, name) for argument in call.args]
    if len(positional) == 1 and isinstance(positional[0], dict):
        params.update(positional[0])
    elif positional:
        params.update(zip(positional_names(name, len(positional), known), positional, strict=True))
    for keyword in call.keywords:
        value = _literal(keyword.value, f"{keyword.arg or '**'} of {name}")
        if keyword.arg is not None:
            params[keyword.arg] = value
        elif isinstance(value, dict):
            params.update(value)
        else:
            raise _NotCode
    return params


def positional_names(name: str, count: int, known: KnownTools) -> Sequence[str]:
    """Return what arguments without a name are: the required ones, in order. Raises: AnswerUnreadable when unclear."""
    required = known.required(name)
    properties = list(known.properties(name))
    if count <= len(required) and (count == len(required) or required == properties[: len(required)]):
        return required[:count]
    named = ", ".join(f"{each}=..." for each in properties[:count])
    raise AnswerUnreadable(f"the arguments of {name} have no names: write {name}({named})")


def _literal(node: ast.expr, of: str) -> JsonValue:
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (str, int, float))):
        return node.value
    if isinstance(node, ast.Name) and node.id.lower() in _CONSTANTS:
        return _CONSTANTS[node.id.lower()]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _literal(node.operand, of)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return -number
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_literal(element, of) for element in node.elts]
    if isinstance(node, ast.Dict):
        return {_key(key, of): _literal(value, of) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.Call) and _is_dict(node):
        return {keyword.arg or "": _literal(keyword.value, of) for keyword in node.keywords}
    raise AnswerUnreadable(f"an argument of {of} is not a literal value: {ast.unparse(node)[:100]}")


def _is_dict(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args


def _key(node: ast.expr | None, of: str) -> str:
    if isinstance(node, ast.Name):  # JavaScript: {label: "A"}
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise AnswerUnreadable(f"an argument of {of} is not a literal value")
