"""What documents know of a language's code without running it: which names it sets and uses, and its syntax."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*|[A-Za-z_]\w*")
_TEXT = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.S)
_SQL_SETS = re.compile(
    r"\b(?:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view)\s+(?:if\s+not\s+exists\s+)?"
    r"|insert\s+(?:or\s+\w+\s+)?into\s+|update\s+|delete\s+from\s+|alter\s+table\s+|drop\s+table\s+(?:if\s+exists\s+)?)"
    r"\"?([A-Za-z_]\w*)",
    re.I,
)
_R_SETS = re.compile(r"(?:^|[;{\n])\s*([A-Za-z.][\w.]*)(?:[$\[][^\n=]*?)?\s*(?:<<?-|=(?!=))")
_JS_SETS = re.compile(
    r"\b(?:let|const|var|function\*?|class)\s+([A-Za-z_$][\w$]*)|(?:^|[;{\n])\s*([A-Za-z_$][\w$]*)(?:[.\[][^\n=]*?)?\s*[-+*/]?=(?![=>])"
)
_LONGEST = 200_000
_PYTHON_EXACT = frozenset(
    ("NoneType", "bool", "int", "float", "str", "list", "dict", "tuple", "set", "Decimal", "date", "datetime", "time",
     "timedelta", "bytes", "complex", "UUID", "ndarray", "DataFrame")
)  # fmt: skip
_R_EXACT = frozenset(
    ("NULL", "logical", "integer", "numeric", "character", "complex", "raw", "factor", "ordered", "list", "AsIs",
     "Date", "POSIXct", "difftime", "data.frame")
)  # fmt: skip
_JAVASCRIPT_EXACT = frozenset(
    ("null", "undefined", "boolean", "number", "string", "bigint", "Array", "Object", "Date", "Map", "Set",
     "Uint8Array")
)  # fmt: skip


@dataclass(frozen=True)
class CodeNames:
    sets: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()  #: of those set: what its own source text can make again


@dataclass(frozen=True)
class SyntaxFault:
    text: str
    line: int | None = None  #: from 1


@dataclass(frozen=True)
class Analysis:
    """One language's row; a language without one runs too, but nothing is known of its names."""

    names: Callable[[str], CodeNames] = lambda _code: CodeNames()
    fault: Callable[[str], SyntaxFault | None] = lambda _code: None
    definitions: Callable[[str], str] = lambda _code: ""  #: code that only defines again what its source defined
    exact: frozenset[str] | None = None  #: types whose values can be saved and restored exactly; ``None``: all
    has_variables: bool = True


def analysis_of(language: str) -> Analysis:
    return _ANALYSES.get(language, Analysis())


def names_of(language: str, code: str) -> CodeNames:
    return analysis_of(language).names(code) if len(code) <= _LONGEST else CodeNames()


def fault_of(language: str, code: str) -> SyntaxFault | None:
    """The first syntax error; ``None`` also where the language's syntax is not checked."""
    return analysis_of(language).fault(code) if len(code) <= _LONGEST else None


def _by_words(code: str, sets: frozenset[str]) -> CodeNames:
    """Every word may be a name that is used."""
    words = set(_WORD.findall(code))
    # ``frame.column`` uses ``frame``; in R the dot is part of a name.
    return CodeNames(sets, frozenset(words | {word.partition(".")[0] for word in words}))


def _sql(code: str) -> CodeNames:
    return _by_words(code, frozenset(match[1] for match in _SQL_SETS.finditer(_TEXT.sub(" ", code))))


def _r(code: str) -> CodeNames:
    bare = _TEXT.sub(" ", code)
    return _by_words(bare, frozenset(match[1] for match in _R_SETS.finditer(bare)))


def _javascript(code: str) -> CodeNames:
    bare = _TEXT.sub(" ", code)
    return _by_words(bare, frozenset(match[1] or match[2] for match in _JS_SETS.finditer(bare)))


def _python(code: str) -> CodeNames:
    try:
        tree = ast.parse(code)
        reader = _NameReader()
        for statement in tree.body:
            reader.visit(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CodeNames()
    return CodeNames(frozenset(reader.sets), frozenset(reader.uses), frozenset(reader.defines))


def _python_fault(code: str) -> SyntaxFault | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)
    except SyntaxError as error:
        return SyntaxFault(f"SyntaxError: {error.msg}", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxFault(type(error).__name__)
    return None


def _python_definitions(code: str) -> str:
    """The imports, functions and classes at the top of Python code."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return "\n".join(ast.unparse(node) for node in body if isinstance(node, kinds))


class _NameReader(ast.NodeVisitor):
    """Collects what happens at the top; the names that functions use inside count as used."""

    def __init__(self) -> None:
        self.sets: set[str] = set()
        self.uses: set[str] = set()
        self.defines: set[str] = set()
        self._inside = 0

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.add(node.id)
        elif not self._inside:
            self.sets.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._changed(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._changed(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.uses.add(node.target.id)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # ``items.append(1)`` as a statement changes ``items``.
        if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute) and not self._inside:
            root = _root(node.value.func)
            if root is not None:
                self.sets.add(root)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._define(alias.asname or alias.name.partition(".")[0] for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._define(alias.asname or alias.name for alias in node.names)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scope(node, node.name)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._scope(node, node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._scope(node, None)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._scope(node, None)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._scope(node, None)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._scope(node, None)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._scope(node, None)

    def _changed(self, node: ast.Attribute | ast.Subscript) -> None:
        root = _root(node)
        if root is not None and not isinstance(node.ctx, ast.Load) and not self._inside:
            self.sets.add(root)
        self.generic_visit(node)

    def _define(self, names: object) -> None:
        if not self._inside:
            defined = set(names)  # type: ignore[call-overload]
            self.sets |= defined
            self.defines |= defined

    def _scope(self, node: ast.AST, name: str | None) -> None:
        if name is not None:
            self._define([name])
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


_ANALYSES: Mapping[str, Analysis] = {
    "python": Analysis(_python, _python_fault, _python_definitions, exact=_PYTHON_EXACT),
    "r": Analysis(_r, exact=_R_EXACT),
    "javascript": Analysis(_javascript, exact=_JAVASCRIPT_EXACT),
    "sql": Analysis(_sql, has_variables=False),
}
