"""Python code read from its syntax tree: names, faults, and what its definitions are."""

from __future__ import annotations

import ast
import warnings

from services.execution.languages.python.guest import reach
from services.execution.sandbox.language import Analysis, CodeNames, SyntaxFault

_EXACT = (
    "NoneType bool int float str list dict tuple set Decimal date datetime time timedelta bytes complex UUID ndarray"
    " DataFrame"
)


def _names(code: str) -> CodeNames:
    try:
        tree = ast.parse(code)
        reader = _NameCollector()
        for statement in tree.body:
            reader.visit(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return CodeNames(reads=frozenset([reach.EVERYTHING]))
    return CodeNames(frozenset(reader.sets), frozenset(reader.uses), frozenset(reader.defines), _reads(tree))


def _reads(tree: ast.Module) -> frozenset[str]:
    """Return every name that the code may read, and where else its words lead."""
    reads: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            reads.add(reach.LEADS.get(node.id, node.id))
            if node.id in reach.LEADS:
                reads.add(node.id)
        elif isinstance(node, ast.Attribute):
            reads |= {reach.LEADS[node.attr]} if node.attr in reach.LEADS else set()
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            reads |= set(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            reads |= reach.words_of(node.value)
            reads |= {reach.LIBRARY} if reach.text_leads(node.value) else set()
        elif isinstance(node, ast.Import):
            reads |= {lead for each in node.names if (lead := reach.module_leads(each.name))}
        elif isinstance(node, ast.ImportFrom):
            lead = reach.LIBRARY if node.level else reach.module_leads(node.module or "")
            reads |= {lead} if lead else set()
            reads |= {reach.LEADS[each.name] for each in node.names if each.name in reach.LEADS}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            reads.add(node.name)
        elif isinstance(node, ast.alias):
            reads.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            reads.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            reads.add(node.rest)
    return frozenset(reads)


def _fault(code: str) -> SyntaxFault | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)
    except SyntaxError as error:
        return SyntaxFault(f"SyntaxError: {error.msg}", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxFault(type(error).__name__)
    return None


def _definitions(code: str) -> str:
    """Return the imports, functions and classes at the top of Python code."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return "\n".join(ast.unparse(node) for node in body if isinstance(node, kinds))


class _NameCollector(ast.NodeVisitor):
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
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not self._inside:
            root = _root(value.func)
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


PYTHON_ANALYSIS = Analysis(
    names=_names,
    fault=_fault,
    definitions=_definitions,
    exact=frozenset(_EXACT.split()),
    ambient=reach.AMBIENT,
    parts={reach.LIBRARY: reach.PARTS},
    drawn=frozenset([reach.RANDOM]),
)
