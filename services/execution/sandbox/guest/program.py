"""Run a program text: statements, then the last expression as its value; and say in plain words how it failed."""

from __future__ import annotations

import errno
import linecache
import sys
import traceback
from ast import (
    AST,
    AsyncFunctionDef,
    Attribute,
    Call,
    Expr,
    Expression,
    FunctionDef,
    Lambda,
    Module,
    Name,
    PyCF_ALLOW_TOP_LEVEL_AWAIT,
    PyCF_ONLY_AST,
    iter_child_nodes,
)
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_COROUTINE
from types import CodeType, TracebackType

from services.execution.sandbox.guest import awaiting
from services.execution.sandbox.guest.isolate import CODE
from services.execution.sandbox.protocol.wire import Message

_traceable = sys.call_tracing  #: the kernel itself runs where trace functions see nothing
_LONGEST = 20_000  #: characters of a traceback or message
_ASYNC = PyCF_ALLOW_TOP_LEVEL_AWAIT
#: Functions that need a running loop. Jupyter always has one, so that notebooks call them in a cell without ``await``.
_OF_A_RUNNING_LOOP = frozenset(["create_task", "ensure_future", "gather", "get_running_loop"])
_OWN_LOOP = frozenset(["run", "run_until_complete", "run_forever", "Runner"])  #: these start a loop of their own


@dataclass(frozen=True)
class Program:
    body: CodeType | None
    last: CodeType | None
    in_loop: bool = False  #: it awaits nothing, but has to run within the loop


def compiled(code: str, name: str) -> Program:
    """Compile a program. Raises: SyntaxError, ValueError, RecursionError, MemoryError."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    tree = compile(code, name, "exec", PyCF_ONLY_AST | _ASYNC, dont_inherit=True)
    assert isinstance(tree, Module)
    called = set(_called_at_the_top(tree)) if "asyncio" in code or "create_task" in code else set()
    last: CodeType | None = None
    if tree.body and isinstance(tree.body[-1], Expr):
        expression = tree.body.pop()
        assert isinstance(expression, Expr)
        last = compile(Expression(expression.value), name, "eval", _ASYNC, dont_inherit=True)
    body = compile(tree, name, "exec", _ASYNC, dont_inherit=True) if tree.body else None
    return Program(body, last, in_loop=bool(called & _OF_A_RUNNING_LOOP) and not called & _OWN_LOOP)


def _called_at_the_top(tree: Module) -> Iterator[str]:
    """Yield the last word of each function that the code calls outside its own functions."""
    todo: list[AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, (FunctionDef, AsyncFunctionDef, Lambda)):
            continue
        if isinstance(node, Call) and isinstance(node.func, (Name, Attribute)):
            yield node.func.id if isinstance(node.func, Name) else node.func.attr
        todo += iter_child_nodes(node)


def run(program: Program, space: dict[str, object]) -> object:
    """Run it and return the value of the last expression; ``None`` without one. Raises: what the code raises."""
    value: object = None
    for code in (program.body, program.last):
        if code is None:
            continue
        if code.co_flags & CO_COROUTINE:
            value = _traceable(awaiting.finished, (eval(code, space),))  # noqa: S307 - this is what the sandbox is for
        elif program.in_loop:
            value = _traceable(awaiting.finished, (_evaluated(code, space),))
        else:
            value = _traceable(eval, (code, space))
    return None if program.last is None else value


async def _evaluated(code: CodeType, space: dict[str, object]) -> object:
    return eval(code, space)  # noqa: S307


def described(error: BaseException) -> Message:
    """Return the error as a message: type, message, traceback without our frames, and the limit that it indicates."""
    trace = _of_the_code(error.__traceback__)
    try:
        message = str(error)
    except Exception:
        message = ""
    try:
        lines = traceback.format_exception(type(error), error, trace)
    except Exception:
        lines = [f"{type(error).__name__}: {message}\n"]
    text = "".join(lines)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"
    return {
        "type": type(error).__name__,
        "message": message[:_LONGEST],
        "traceback": text,
        "limit": _limit_behind(error, message),
    }


def _of_the_code(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the code's first frame on, without our interrupt handler's; SQL has no frames at
    all.
    """
    here = __file__.rpartition("/sandbox/guest/")[0]
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(f"{CODE}/"):
        trace = trace.tb_next
    each = trace
    while each is not None:
        after = each.tb_next
        if after is not None and after.tb_next is None and after.tb_frame.f_code.co_filename.startswith(here):
            each.tb_next = None
        each = each.tb_next
    return trace


def _limit_behind(error: BaseException, message: str) -> str | None:
    if isinstance(error, MemoryError) or type(error).__name__ in ("ArrowMemoryError", "OutOfMemoryException"):
        return "memory"
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            return "disk"
        if error.errno == errno.ENOMEM:
            return "memory"
        if error.errno == errno.EAGAIN and isinstance(error, BlockingIOError) and error.filename is None:
            return "processes"
    if isinstance(error, RuntimeError) and "can't start new thread" in message:
        return "processes"
    return None


def exit_status(stop: SystemExit) -> int:
    """Return the interpreter's exit status; a text is printed on stderr, as the interpreter does."""
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(2**63) <= code < 2**63 else 255
    print(code, file=sys.stderr)  # noqa: T201
    return 1
