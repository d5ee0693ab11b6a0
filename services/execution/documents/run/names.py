"""Which names a piece of code sets and which it uses; enough to know what depends on what."""

from __future__ import annotations

import ast
import re
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


@dataclass(frozen=True)
class Names:
    sets: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()  #: of those set: what its own source text can make again


def names_of(language: str, code: str) -> Names:
    if len(code) > _LONGEST:
        return Names()
    if language == "python":
        return _python(code)
    bare = _TEXT.sub(" ", code)
    if language == "sql":
        sets = frozenset(match[1] for match in _SQL_SETS.finditer(bare))
    elif language == "r":
        sets = frozenset(match[1] for match in _R_SETS.finditer(bare))
    elif language == "javascript":
        sets = frozenset(match[1] or match[2] for match in _JS_SETS.finditer(bare))
    else:
        return Names()
    words = set(_WORD.findall(bare if language != "sql" else code))
    # ``frame.column`` uses ``frame``; in R the dot is part of a name.
    parts = {part for word in words for part in word.split(".")[:1]}
    return Names(sets, frozenset(words | parts))


def definitions(code: str) -> str:
    """The imports, functions and classes at the top of Python code."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return "\n".join(ast.unparse(node) for node in body if isinstance(node, kinds))


def _python(code: str) -> Names:
    try:
        tree = ast.parse(code)
        reader = _Reader()
        for statement in tree.body:
            reader.visit(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Names()
    return Names(frozenset(reader.sets), frozenset(reader.uses), frozenset(reader.defines))


class _Reader(ast.NodeVisitor):
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
