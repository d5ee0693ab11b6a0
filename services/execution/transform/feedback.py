"""Messages to the model: every message of the loop, from prompt files, bounded, with masked values kept out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from services.execution.transform.dataset import DataRead
from services.execution.transform.examples import Example
from services.execution.transform.masking import Redactor
from services.execution.transform.missing_names import missing_names, missing_note
from services.execution.transform.preview import (
    ShownTable,
    TableText,
    describe,
    quote_text,
    references,
    summary_of,
    view,
)
from services.execution.transform.prose import in_prose
from services.execution.transform.results import CodeRun, RunHistory
from services.execution.transform.runner import TransformLimits
from services.execution.transform.skills import Skill
from shared.contracts.transform import CellsSent, TransformInput, UnverifiedReason
from shared.languages import LANGUAGES, second_language
from shared.llm.chat import ChatMessage, Prompts, RenderedPrompt

_UNPROVEN = ("not_checked", "own_checks_empty")
KEY = "execution.transform"
_WANTED: Mapping[str, str] = {
    "table": "The result must be one table.",
    "plot": "The result must be one plot: a matplotlib figure in Python, a ggplot in R.",
}
_NO_TABLE, _FAILS, _WRONG = "The code gives no result:", "The code fails:", "The code runs, but its result is wrong:"
_AVOID, _WAS_WRONG = "Avoid this error:", "An earlier answer was wrong:"
_MAX_NOTE = 600  #: characters
_COLUMNS = re.compile(r"\bcolumns\s*:\s*([^.;:\n]{1,500})", re.IGNORECASE)
_COLUMN = re.compile(r"\w[\w-]{0,60}")
_SHORTER = "(The previews are shorter than usual: the model's window is small.)"
_MAX_LINE = 300  #: characters
_UNCHANGED = "The result equals the data that the code started from."


@dataclass
class Feedback:
    """Renders the messages; keeps the account of the cells that they hold."""

    prompts: Prompts
    request: TransformInput
    limits: TransformLimits
    progress: RunHistory
    data: Sequence[DataRead]  #: as a model may see it
    redactor: Redactor
    turn: int = 1
    remarks: Sequence[str] = ()  #: on the first message
    short: bool = False  #: for a small model: little text, after examples, without notation that it could copy

    @property
    def fence(self) -> str:
        return self.request.language

    @property
    def language(self) -> str:
        return LANGUAGES[self.request.language].title

    @property
    def _library(self) -> str:
        """What to write code with, in a word."""
        readers = LANGUAGES[self.request.language].readers
        return self.request.reader.name if len(readers) > 1 else self.language

    @property
    def _assigns(self) -> str:
        if self.request.output == "plot":
            return "draws the plot"
        is_query = LANGUAGES[self.request.language].result == "query"
        return "gives the answer, one table, with its last query" if is_query else "assigns the answer to `result`"

    def system(self, skills: Sequence[Skill], key: str = KEY) -> RenderedPrompt:
        if self.short:
            return self.prompts.render(f"{KEY}_short", code=self._library, assigns=self._assigns)
        return self.prompts.render(
            key,
            language=self.language,
            fence=self.fence,
            wanted=_WANTED[self.request.output],
            language_rules=self._text(self.request.reader.prompt).strip(),
            looks=self.limits.probes,
            skills="\n".join(f"\n# Guidance: {skill.name}\n\n{skill.text}" for skill in skills),
        )

    def first(self, remarks: Sequence[str] = (), name: str = "first", tokens: int | None = None) -> str:
        """Return the first message; ``tokens`` limits the previews, for a window that is too small for the requested
        ones.
        """
        asked = self.request.preview.tokens
        if self.short:
            shorter = [] if tokens is None else [_SHORTER]
            return self._short_first([*shorter, *remarks], asked if tokens is None else min(tokens, asked))
        each_has = max(200, asked // len(self.data)) if tokens is None else min(tokens, asked) // len(self.data)
        views = [self._view(each.shown(), each_has) for each in self.data]
        if tokens is not None:
            views.append("(The previews are shorter than usual: the model's window is small. Print what you need.)")
        return self._text(
            name,
            data="\n\n".join(views),
            task=self.request.task,
            remarks="\n".join([*remarks, *self._masking(), *self._assertions(), *self._self_checks(name)]),
            **({"language": self.language, "fence": self.fence} if name == "first" else {}),
        )

    def _short_first(self, remarks: Sequence[str], tokens: int) -> str:
        described = [self._described(each.shown(), self.request.task, tokens // len(self.data)) for each in self.data]
        plain = len(self.data) > 1 and not self.masked and not any(each.lazy for each in self.data)
        described += references({each.name: each.frame for each in self.data}) if plain else []
        return self._text(
            "short_first",
            data="\n".join(described),
            task=self.request.task,
            remarks="\n".join([*remarks, *self._masking(), *self._assertions()]),
            code=self._library,
            assigns=self._assigns,
        )

    def examples(self, examples: Sequence[Example]) -> list[ChatMessage]:
        """Return the examples as an exchange that went before."""
        messages = []
        for example in examples:
            reader = self.request.reader
            described = [
                describe(table, example.task, reader.frame, reader.types, 500).text for table in example.tables()
            ]
            data = "\n".join([*described, *references(example.frames)])
            asked = self._text(
                "short_first", data=data, task=example.task, remarks="", code=self._library, assigns=self._assigns
            )
            answer = f"```{self.fence}\n{example.code[reader.name]}\n```"
            messages += [ChatMessage("user", asked), ChatMessage("assistant", answer)]
        return messages

    def again_alone(self, run: CodeRun) -> str:
        """Return the task once more, with one answer that was given twice and where it went wrong."""
        visible = run.visible
        line = failing_line(visible.message)
        what = _NO_TABLE if run.outcome == "not_a_table" else _WRONG
        if run.outcome == "error":
            what = f"It stops at the line `{line}`:" if line else _FAILS
        return self._text(
            "again_alone",
            task=self.first(name="tools_first"),
            fence=self.fence,
            code=quote_text(run.code, self.limits.feedback_characters),
            what=what,
            detail=self._quoted(visible.message.split("\n", 1)[0] if line else visible.message),
            hint=self._hints(run),
        )

    def _short(self, problem: str, detail: str, hint: str = "") -> str:
        """Return the task again, with what went wrong before as a remark.

        A small model copies the code that it reads, so it is not shown its own again.
        """
        note = self._text("short_again", problem=problem, detail=self._quoted(detail, _MAX_NOTE), hint=hint).strip()
        return self.first([*self.remarks, note])

    def _fails(self, run: CodeRun) -> str:
        message = run.visible.message
        columns = {each.name: tuple(each.types) for each in self.data}
        return self._short(_AVOID, message.split("\n", 1)[0], missing_note(message, columns))

    def _missing_names(self, message: str) -> str:
        """Return the columns that there are, when the code failed because it named one that there is not."""
        return missing_names(message, {each.name: tuple(each.types) for each in self.data})

    def looks_wrong(self, run: CodeRun) -> bool:
        """Return whether a table has no rows, or a column no value."""
        return bool(self._suspect(run.visible))

    def error(self, run: CodeRun) -> str:
        if self.short:
            return self._fails(run)
        return self._text("error", error=self._quoted(run.visible.message), hint=self._hints(run), fence=self.fence)

    def not_a_table(self, run: CodeRun) -> str:
        if self.short:
            return self._short(_WAS_WRONG, run.visible.message)
        problem = self._quoted(run.visible.message)
        return self._text("not_a_table", problem=problem, hint=self.hint(), fence=self.fence)

    def result(self, run: CodeRun, reasons: Sequence[UnverifiedReason] = ()) -> str:
        """``reasons``: what speaks against the result."""
        against = [*self._suspect(run.visible), *(each.message for each in reasons)]
        if self.short and against:
            return self._short(_WAS_WRONG, "\n".join(against))
        shown = self._text(
            "result",
            effect=self._effect(run.visible),
            remarks="\n".join([*self._remarks(run.visible), self.unverified(reasons)]),
            result=self.result_view(run.visible),
            confirmation=self._confirmation(reasons),
            fence=self.fence,
        )
        return self.first([*self.remarks, shown]) if self.short else shown

    def _confirmation(self, reasons: Sequence[UnverifiedReason]) -> str:
        """Return what to answer to a result that is right."""
        if self.asks_for_checks and _are_unproven(reasons):
            return self._text("proof", **self._second()).strip()
        return "the single word DONE"

    def _second(self) -> dict[str, str]:
        """Return the language of a second computation."""
        other = second_language(self.request.language)
        return {"second": other, "second_language": LANGUAGES[other].title}

    def unverified(self, reasons: Sequence[UnverifiedReason]) -> str:
        """Return what speaks against a result, as the model reads it."""
        if not reasons:
            return ""
        unproven = [self._quoted(each.message, 700) for each in reasons if each.code == "not_checked"]
        against = [each.message for each in reasons if each.code != "not_checked"]
        listed = "\n".join(f"- {self._quoted(text.replace('The model stated', 'You stated'), 700)}" for text in against)
        return "\n".join([*unproven, *([self._text("unverified", reasons=listed).strip()] if against else [])])

    def tool_unverified(self, reasons: Sequence[UnverifiedReason]) -> str:
        """Return what is wrong with a result, with what the tool ``finish`` takes against it."""
        proof = [self._text("tool_proof", **self._second()).strip()] if _are_unproven(reasons) else []
        return "\n".join([self.unverified(reasons), *proof])

    def assertions(self, run: CodeRun) -> str:
        if self.short:
            return self._short(_WAS_WRONG, self._failing(run))
        return self._text(
            "assertions",
            failing=self.failing(run),
            effect=self._effect(run.visible),
            result=self.result_view(run.visible),
            hint=self.hint(),
            fence=self.fence,
        )

    def failing(self, run: CodeRun) -> str:
        return self._quoted(self._failing(run))

    def _failing(self, run: CodeRun) -> str:
        failing = [f"- {each.text}: {each.detail or 'does not hold'}" for each in run.visible.checks if not each.holds]
        return "\n".join(failing)

    def no_op(self) -> str:
        if self.short:
            return self._short(_WAS_WRONG, _UNCHANGED)
        return self._text("no_op", fence=self.fence)

    def no_code(self, problem: str) -> str:
        if self.short:
            note = self._text("short_no_code", problem=problem, code=self._library)
            return self.first([*self.remarks, " ".join(note.split())])
        return self._text("no_code", problem=problem, language=self.language, fence=self.fence)

    def looked(self, output: str) -> str:
        return self._text("look", output=self._quoted(output), remarks=self._looks_left(), fence=self.fence)

    def ran(self, run: CodeRun, reasons: Sequence[UnverifiedReason] = ()) -> str:
        """Return the answer of the tool ``run_code``."""
        visible = run.visible
        body = self._quoted(visible.message)
        if run.good:
            body = self.result_view(visible)
        elif run.outcome == "assertion_failed":
            body = f"{self.failing(run)}\n\n{self.result_view(visible)}"
        remarks = "\n".join([*self._remarks(visible), self.tool_unverified(reasons)])
        effect = self._effect(visible) if visible.effect is not None else "none"
        return self._text("tool_run", outcome=run.outcome, effect=effect, remarks=remarks, body=body, hint=self.hint())

    def looked_by_tool(self, output: str) -> str:
        return self._text("tool_look", output=self._quoted(output), remarks=self._looks_left())

    def data_set(self, name: str | None) -> str:
        """Return a data set's preview again."""
        data = next((each for each in self.data if name in (None, each.name)), None)
        if data is None:
            return self.refused(
                f"there is no data set of that name: there are {', '.join(each.name for each in self.data)}"
            )
        return self._text("tool_look", output=self._view(data.shown(), self.request.preview.tokens), remarks="")

    def refused(self, problem: str) -> str:
        return self._text("tool_refused", problem=problem)

    def use_tools(self) -> str:
        return self._text("use_tools")

    def _hints(self, run: CodeRun) -> str:
        return "\n".join(filter(None, (self._missing_names(run.visible.message), self.hint())))

    def hint(self) -> str:
        """Return advice to try another approach, after two consecutive failures."""
        return self._text("diagnose", failures=self.progress.failures) if self.progress.failures >= 2 else ""

    def result_view(self, run: CodeRun) -> str:
        printed = self._quoted(run.stdout.strip(), 1000)
        if run.table is None:
            return f"{self._quoted(run.message)}\n{printed}".strip()
        rows = self.request.preview.rows or 5
        summary = summary_of(run.table.frame, run.table.types, rows)
        height = run.effect.rows["after"] if run.effect is not None else None
        if isinstance(height, int):  # of the real result, where the cells are pseudonyms
            summary = replace(summary, height=height)
        text = self._view(ShownTable("result", summary), max(200, self.request.preview.tokens // 3), rows)
        return f"{text}\nprinted:\n{printed}" if printed else text

    def _view(self, shown: ShownTable, tokens: int, rows: int | None = None) -> str:
        return self._counted(shown, view(shown, self.request.preview.rows if rows is None else rows, tokens))

    def _described(self, shown: ShownTable, task: str, tokens: int) -> str:
        reader = self.request.reader
        return self._counted(shown, describe(shown, task, reader.frame, reader.types, tokens))

    def _counted(self, shown: ShownTable, made: TableText) -> str:
        """Return the text without masked values, and note which cells are in it."""
        self.progress.audit.append(
            CellsSent(
                turn=self.turn,
                table=shown.name,
                rows=made.rows,
                columns=list(made.columns),
                values=dict(made.values),
                masked=sorted(shown.masked),
                stand_ins=shown.name == "result" and self.masked,
            )
        )
        return self.redactor.redact(made.text)

    def _effect(self, run: CodeRun) -> str:
        return self._quoted(run.effect.summary if run.effect is not None else run.message)

    def _looks_left(self) -> str:
        return f"{self.limits.probes - len(self.progress.probes)} looks are left."

    def _remarks(self, run: CodeRun) -> list[str]:
        """Return what looks wrong with a result that is a table all the same."""
        if run.table is None or run.effect is None:
            return []
        return [*self._masking(), *self._suspect(run)]

    def _suspect(self, run: CodeRun) -> list[str]:
        if run.table is None or run.effect is None:
            return []
        frame, remarks = run.table.frame, []
        if run.effect.rows["after"] == 0:
            remarks.append("The result has no rows. Check that the conditions are spelled as the values are.")
        empty = [column.name for column in frame.iter_columns() if column.null_count() == frame.height > 0]
        if empty:
            remarks.append(f"Without any value: {self._quoted(', '.join(empty), 400)}. Check how they are computed.")
        named = named_columns(self.request.task)
        if not set(named) <= set(frame.columns):
            has = self._quoted(", ".join(frame.columns), 400)
            remarks.append(f"The task names the columns {', '.join(named)}; the result has {has}.")
        return remarks

    @property
    def reads_checks(self) -> bool:
        """Whether checks that the model states are verified: of masked values it can state nothing."""
        request = self.request
        plain = request.output == "table" and not self.masked
        return plain and not request.assertions and not any(each.lazy for each in self.data)

    @property
    def asks_for_checks(self) -> bool:
        """Return whether the model may end the work with its own checks."""
        return not self.short and self.reads_checks and self.request.confirm == "auto"

    def _self_checks(self, name: str) -> list[str]:
        if name != "first" or not self.asks_for_checks:
            return []
        return [self._text("checks", **self._second()).strip()]

    @property
    def masked(self) -> bool:
        return any(each.masked for each in self.data)

    def _masking(self) -> list[str]:
        """Return why values look odd when some are masked; the prompt's key is older than the word pseudonym."""
        return [self._text("stand_ins").strip()] if self.masked else []

    def _assertions(self) -> list[str]:
        if not self.request.assertions:
            return []
        if self.short:
            return in_prose(self.request.assertions)
        return ["The result must hold:", *(f"- {text}" for text in self.request.assertions)]

    def _quoted(self, text: str, most: int | None = None) -> str:
        """Text that came out of data or programs: quoted, bounded, and without masked values."""
        return quote_text(self.redactor.redact(text), most or self.limits.feedback_characters)

    def _text(self, name: str, **variables: object) -> str:
        return self.prompts.render(f"{KEY}_{name}", **variables).text


def _are_unproven(reasons: Sequence[UnverifiedReason]) -> bool:
    return any(each.code in _UNPROVEN for each in reasons)


def named_columns(task: str) -> list[str]:
    """Return the columns that a task lists after ``Columns:``."""
    listed = _COLUMNS.search(task)
    names = re.split(r",|\band\b", listed[1]) if listed else []
    plain = [name.strip(" \t`'\"") for name in names]
    return plain if all(_COLUMN.fullmatch(name) for name in plain) else []


def failing_line(message: str) -> str:
    """Return the line of the code that an error points to; empty if it points to none."""
    lines = message.splitlines()
    shown = [line for at, line in enumerate(lines[1:]) if lines[at].lstrip().startswith("File ")]
    return shown[-1].strip().replace("`", "'")[:_MAX_LINE] if shown else ""
