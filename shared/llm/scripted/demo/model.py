"""What the demo model answers to each role; it says so when a request is outside of its rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pydantic import JsonValue

from shared.languages import LANGUAGES, second_language
from shared.llm.scripted.demo import diagrams, lookups, sentences
from shared.llm.scripted.demo.charts import OUTPUT_IS_TABLE, asks_for_chart, drawn, read_chart
from shared.llm.scripted.demo.pandas_code import code_of
from shared.llm.scripted.demo.planning import plan
from shared.llm.scripted.demo.query import NotUnderstood, Query
from shared.llm.scripted.demo.sql_code import sql_of
from shared.llm.scripted.demo.tables_seen import ColumnSeen, TableSeen, TaskSeen, read_task
from shared.llm.scripted.script import ScriptedCall, ScriptedFault, ScriptedReply, ScriptedRequest

_WHO = "This is the demo model: it follows rules, and no provider was called."
_REAL = "For any wording, stop this installation, set the key of a provider such as GROQ_API_KEY, and run `assay up`."
_CAN_TRANSFORM = (
    "It reads tasks in English, and simple ones in German, French and Spanish: totals, counts, averages, minima and "
    "maxima by column or by month, conditions, sorting, the top rows, "
    "distinct values, new, renamed and removed columns, joins of two tables on a shared column, "
    "and with the output `plot` bar and line charts of groups."
)
_MAX_ASSERTIONS = 5  #: in an explanation
_ASSERTIONS_FAIL = "Your code ran, but the result does not hold"
_RAN = ("Your code ran.", "This speaks against the result", "outcome: result")
_UNCHANGED = ("Your code ran, but it changed nothing", "outcome: no_op")
_FAILED = ("Your code failed:", "outcome: error", "This is failure", "That is not the result that is needed")


def answer(request: ScriptedRequest) -> tuple[ScriptedReply, ScriptedFault | None]:
    """Return the reply, and for a refusal the fault that says so."""
    role = request.role or ""
    try:
        match role:
            case "execution.transform":
                return _transform(request), None
            case "flows.edit":
                return _edit(request)
            case "search.plan":
                return _json(lookups.plan(_system(request), lookups.read(request.last_user))), None
            case "search.reflect":
                return _json(lookups.replan(_system(request), lookups.read(request.last_user))), None
            case "search.answer":
                return _json(lookups.answer(lookups.read(request.last_user))), None
            case "documents.instruction":
                return _document(request)
            case "stacks.identify":  # an identification needs knowledge, and evidence for it
                return _json({"identifications": []}), None
    except ValueError as error:
        return _refusal(f"{_WHO} It cannot read this request ({error}).")
    return _refusal(f"{_WHO} It has no rules for {role or 'a request without a role'}.")


def _json(value: JsonValue) -> ScriptedReply:
    return ScriptedReply(json=value)


def _refusal(text: str) -> tuple[ScriptedReply, ScriptedFault]:
    return ScriptedReply(text=text), ScriptedFault(kind="refusal")


def _system(request: ScriptedRequest) -> str:
    return request.messages[0] if request.messages else ""


# Transforms

#: What writes a query in a language: code with pandas, or SQL.
_WRITERS: Mapping[str, Callable[[Query, Sequence[TableSeen]], str | None]] = {
    row.name: sql_of if row.result == "query" else code_of
    for row in LANGUAGES.values()
    if row.result == "query" or any(reader.name == "pandas" for reader in row.readers)
}
_OF_TOOLS = "python"  #: the language of code that tools run


def _transform(request: ScriptedRequest) -> ScriptedReply:
    """Propose code, say DONE to its result, or explain what the rules cover."""
    seen = read_task(request.messages)
    if seen is None or not seen.tables:
        return ScriptedReply(text=f"{_WHO} It does not find the data in this request. {_REAL}")
    if (said := _said_before(request.messages)) is not None:
        return ScriptedReply(text=said)
    last = request.messages[-1].lstrip()
    if last.startswith(_ASSERTIONS_FAIL):
        failing = re.findall(r"^- (.+)$", last, re.MULTILINE)[:_MAX_ASSERTIONS]
        return _explained(f"Its result does not hold your assertions ({'; '.join(failing)}).", seen.tables)
    if last.startswith(_FAILED):
        return _explained("Its code failed, and it has no other.", seen.tables)
    tools = "run_code" in request.tools
    if last.startswith(_RAN) and not last.startswith(_UNCHANGED):
        return _done(last, seen, tools)
    tag = _OF_TOOLS if tools else next((each for each in _WRITERS if f"```{each}" in _system(request)), None)
    if tag is None:
        return _explained("It writes Python with pandas, and SQL.", seen.tables)
    if "polars" in _system(request):
        return _explained("It writes pandas, not polars.", seen.tables)
    draws = "must be one plot" in _system(request)
    chart = read_chart(seen.task) if draws else None
    try:
        query = plan(seen.task if chart is None else chart.table, seen.tables)
        code = _WRITERS[tag](query, seen.tables)
        if chart is not None and code is not None:
            code = drawn(code, query, chart.kind)
    except NotUnderstood as error:
        wants_chart = chart is None and asks_for_chart(seen.task)
        return _explained(OUTPUT_IS_TABLE if wants_chart else str(error), seen.tables)
    if code is None:
        return _explained("It does not write this in SQL: choose Python.", seen.tables)
    if tools:
        return ScriptedReply(tool_calls=(ScriptedCall(name="run_code", params={"code": code}),))
    return ScriptedReply(text=f"{_reading(query)}\n```{tag}\n{code}\n```")


def _done(shown: str, seen: TaskSeen, tools: bool) -> ScriptedReply:
    """Confirm the result that was shown, with its second computation where that is requested."""
    language = (
        second_language(_OF_TOOLS) if tools else next((each for each in _WRITERS if f"```{each} check" in shown), None)
    )
    second = None
    if language is not None and (not tools or "with `second`" in shown):
        with suppress(NotUnderstood):  # of the result of an earlier task
            second = _WRITERS[language](plan(seen.task, seen.tables), seen.tables)
    if tools:
        return ScriptedReply(tool_calls=(ScriptedCall(name="finish", params={"second": second} if second else {}),))
    return ScriptedReply(text="DONE" if second is None else f"DONE\n```{language} check\n{second}\n```")


def _said_before(messages: Sequence[str]) -> str | None:
    """Return the explanation that this job was given already."""
    for message in reversed(messages):
        if message.startswith(_WHO):
            return message
        if "\n# Task\n" in message:
            break
    return None


def _reading(query: Query) -> str:
    notes = f" It {'; '.join(query.notes)}." if query.notes else ""
    return f"The demo model read the task by rules.{notes}"


def _explained(reason: str, tables: Sequence[TableSeen]) -> ScriptedReply:
    """Say why there is no code, and give an example on these columns."""
    columns = "; ".join(
        f"{table.name}: " + ", ".join(f"{column.name} ({_kind(column)})" for column in table.columns[:20])
        for table in tables
    )
    parts = [f"{_WHO} {reason}", _CAN_TRANSFORM, f"Columns: {columns}.", _example(tables[0]), _REAL]
    return ScriptedReply(text="\n".join(part for part in parts if part))


def _kind(column: ColumnSeen) -> str:
    if column.is_number:
        return "number"
    return "date" if column.is_date else "yes or no" if column.type == "bool" else "text"


def _example(table: TableSeen) -> str:
    numbers = [column for column in table.columns if column.is_number and not column.is_id]
    texts = [column for column in table.columns if column.type == "string" and not column.is_date]
    if numbers and texts:
        return f"For example: total {numbers[0].name} by {texts[0].name}."
    return f"For example: sort by {table.columns[0].name} descending." if table.columns else ""


# Diagrams and documents


def _edit(request: ScriptedRequest) -> tuple[ScriptedReply, ScriptedFault | None]:
    try:
        diagram, wish = diagrams.read(request.last_user)
        if wish.startswith(("Previous tool execution results:", "Your answer could not be read")):
            raise NotUnderstood("Its calls failed, and it has no others.")
        calls = diagrams.calls_for(diagram, wish)
    except NotUnderstood as error:
        reply, fault = _refusal(f"<thinking>{_WHO} {error} {diagrams.CAN} {_REAL}</thinking>")
        return reply, fault
    listed = json.dumps([{**call, "id": str(number)} for number, call in enumerate(calls, 1)], ensure_ascii=False)
    thinking = "The demo model read the request by rules."
    return ScriptedReply(text=f"<thinking>{thinking}</thinking>\n<response>{listed}</response>"), None


def _document(request: ScriptedRequest) -> tuple[ScriptedReply, ScriptedFault | None]:
    try:
        return ScriptedReply(text=sentences.content(_system(request), request.last_user)), None
    except NotUnderstood as error:
        return _refusal(f"{_WHO} {error} {sentences.CAN} {_REAL}")
