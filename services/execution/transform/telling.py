"""What the model is told: every message of the loop, from prompt files, bounded, with masked values kept out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.execution.transform.bench import Attempt
from services.execution.transform.dataset import DataRead
from services.execution.transform.effect import summarise
from services.execution.transform.limits import TransformLimits
from services.execution.transform.preview import Shown, View, view
from services.execution.transform.progress import Progress
from services.execution.transform.quoting import plain
from services.execution.transform.skills import Skill
from shared.contracts.transform import CellsSent, TransformInput
from shared.llm.chat import Prompts, RenderedPrompt

KEY = "execution.transform"
_NAMES: Mapping[str, str] = {"python": "Python", "r": "R", "sql": "DuckDB SQL"}
_WANTED: Mapping[str, str] = {
    "table": "The result must be one table.",
    "plot": "The result must be one plot: a matplotlib figure in Python, a ggplot in R.",
}


@dataclass
class Telling:
    """Renders the messages; keeps the account of the cells that they hold."""

    prompts: Prompts
    wanted: TransformInput
    limits: TransformLimits
    progress: Progress
    turn: int = 1
    result_schema: Sequence[tuple[str, str]] = ()

    @property
    def fence(self) -> str:
        return self.wanted.language

    @property
    def language(self) -> str:
        return _NAMES[self.wanted.language]

    def system(self, skills: Sequence[Skill], key: str = KEY) -> RenderedPrompt:
        flavour = f"python_{self.wanted.dataframe}" if self.wanted.language == "python" else self.wanted.language
        return self.prompts.render(
            key,
            language=self.language,
            fence=self.fence,
            wanted=_WANTED[self.wanted.output],
            language_rules=self._text(flavour).strip(),
            looks=self.limits.probes,
            skills="\n".join(f"\n# Guidance: {skill.name}\n\n{skill.text}" for skill in skills),
        )

    def first(self, data: Sequence[DataRead], remarks: Sequence[str] = ()) -> str:
        tokens = max(200, self.wanted.preview.tokens // len(data))
        views = [self._view(_shown(one), tokens) for one in data]
        return self._text(
            "first",
            data="\n\n".join(one.text for one in views),
            task=self.wanted.task,
            remarks="\n".join([*remarks, *self._assertions()]),
            language=self.language,
            fence=self.fence,
        )

    def error(self, message: str) -> str:
        return self._text("error", error=self._plain(message), hint=self.hint(), fence=self.fence)

    def not_a_table(self, problem: str) -> str:
        return self._text("not_a_table", problem=self._plain(problem), hint=self.hint(), fence=self.fence)

    def result(self, attempt: Attempt) -> str:
        return self._text(
            "result",
            effect=self._effect(attempt),
            remarks="\n".join(self._remarks(attempt)),
            result=self.result_view(attempt),
            fence=self.fence,
        )

    def assertions(self, attempt: Attempt) -> str:
        failing = [f"- {one.text}: {one.detail}" for one in attempt.checks if not one.holds]
        return self._text(
            "assertions",
            failing=self._plain("\n".join(failing)),
            effect=self._effect(attempt),
            result=self.result_view(attempt),
            hint=self.hint(),
            fence=self.fence,
        )

    def no_op(self) -> str:
        return self._text("no_op", fence=self.fence)

    def no_code(self, problem: str) -> str:
        return self._text("no_code", problem=problem, language=self.language, fence=self.fence)

    def looked(self, ok: bool, output: str) -> str:
        left = self.limits.probes - len(self.progress.probes)
        remarks = f"{left} looks are left." if ok else f"The look failed. {left} looks are left."
        return self._text("look", output=self._plain(output), remarks=remarks, fence=self.fence)

    def hint(self) -> str:
        """After two failures running, a change of tack."""
        return self._text("diagnose", failures=self.progress.failures) if self.progress.failures >= 2 else ""

    def result_view(self, attempt: Attempt) -> str:
        """The table, or, when its columns are as before, only its rows."""
        if attempt.table is None:
            return self._plain("\n".join([attempt.message, attempt.stdout.strip()]))
        shown = Shown("result", attempt.table.frame, attempt.table.types)
        text = self._view(shown, max(200, self.wanted.preview.tokens // 3)).text
        printed = attempt.stdout.strip()
        return f"{text}\nprinted:\n{self._plain(printed, 1000)}" if printed else text

    def _view(self, shown: Shown, tokens: int) -> View:
        made = view(shown, self.wanted.preview.rows, tokens)
        self.progress.audit.append(
            CellsSent(
                turn=self.turn,
                table=shown.name,
                rows=made.rows,
                columns=list(made.columns),
                values=dict(made.values),
                masked=sorted(shown.masked),
            )
        )
        return made

    def _effect(self, attempt: Attempt) -> str:
        return self._plain(summarise(attempt.effect)) if attempt.effect is not None else attempt.message

    def _remarks(self, attempt: Attempt) -> list[str]:
        """What looks wrong with a result that is a table all the same."""
        if attempt.table is None or attempt.effect is None:
            return []
        frame = attempt.table.frame
        remarks = []
        if frame.height == 0:
            remarks.append("The result has no rows. Check that the conditions are spelled as the values are.")
        empty = [name for name in frame.columns if frame.height and frame[name].null_count() == frame.height]
        if empty:
            remarks.append(f"Without any value: {self._plain(', '.join(empty), 400)}. Check how they are computed.")
        return remarks

    def _assertions(self) -> list[str]:
        if not self.wanted.assertions:
            return []
        return ["The result must hold:", *(f"- {text}" for text in self.wanted.assertions)]

    def _plain(self, text: str, most: int | None = None) -> str:
        return plain(text, most or self.limits.feedback_characters)

    def _text(self, name: str, **variables: object) -> str:
        return self.prompts.render(f"{KEY}_{name}", **variables).text


def _shown(data: DataRead) -> Shown:
    return Shown(data.name, data.frame, data.types, data.masked, data.notes, data.column_notes)
