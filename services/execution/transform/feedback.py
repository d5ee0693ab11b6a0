"""What the model is told: every message of the loop, from prompt files, bounded, with masked values kept out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from services.execution.transform.attempts import Progress
from services.execution.transform.dataset import DataRead
from services.execution.transform.limits import TransformLimits
from services.execution.transform.masking import Veil
from services.execution.transform.preview import Shown, picture_of, view
from services.execution.transform.quoting import plain
from services.execution.transform.runner import Attempt
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
    data: Sequence[DataRead]  #: as a model may see it
    veil: Veil
    turn: int = 1

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

    def first(self, remarks: Sequence[str] = (), name: str = "first") -> str:
        tokens = max(200, self.wanted.preview.tokens // len(self.data))
        views = [self._view(one.shown(), tokens) for one in self.data]
        return self._text(
            name,
            data="\n\n".join(views),
            task=self.wanted.task,
            remarks="\n".join([*remarks, *self._stand_ins(), *self._assertions()]),
            **({"language": self.language, "fence": self.fence} if name == "first" else {}),
        )

    def error(self, attempt: Attempt) -> str:
        return self._text("error", error=self._plain(attempt.visible.message), hint=self.hint(), fence=self.fence)

    def not_a_table(self, attempt: Attempt) -> str:
        problem = self._plain(attempt.visible.message)
        return self._text("not_a_table", problem=problem, hint=self.hint(), fence=self.fence)

    def result(self, attempt: Attempt) -> str:
        return self._text(
            "result",
            effect=self._effect(attempt.visible),
            remarks="\n".join(self._remarks(attempt.visible)),
            result=self.result_view(attempt.visible),
            fence=self.fence,
        )

    def assertions(self, attempt: Attempt) -> str:
        return self._text(
            "assertions",
            failing=self.failing(attempt),
            effect=self._effect(attempt.visible),
            result=self.result_view(attempt.visible),
            hint=self.hint(),
            fence=self.fence,
        )

    def failing(self, attempt: Attempt) -> str:
        failing = [f"- {one.text}: {one.detail or 'does not hold'}" for one in attempt.visible.checks if not one.holds]
        return self._plain("\n".join(failing))

    def no_op(self) -> str:
        return self._text("no_op", fence=self.fence)

    def no_code(self, problem: str) -> str:
        return self._text("no_code", problem=problem, language=self.language, fence=self.fence)

    def looked(self, output: str) -> str:
        return self._text("look", output=self._plain(output), remarks=self._looks_left(), fence=self.fence)

    def ran(self, attempt: Attempt) -> str:
        """The answer of the tool ``run_code``."""
        visible = attempt.visible
        body = self._plain(visible.message)
        if attempt.good:
            body = self.result_view(visible)
        elif attempt.outcome == "assertion_failed":
            body = f"{self.failing(attempt)}\n\n{self.result_view(visible)}"
        remarks = "\n".join(self._remarks(visible))
        effect = self._effect(visible) if visible.effect is not None else "none"
        return self._text(
            "tool_run", outcome=attempt.outcome, effect=effect, remarks=remarks, body=body, hint=self.hint()
        )

    def looked_by_tool(self, output: str) -> str:
        return self._text("tool_look", output=self._plain(output), remarks=self._looks_left())

    def looked_again(self, name: str | None) -> str:
        """A data set, shown once more."""
        data = next((one for one in self.data if name in (None, one.name)), None)
        if data is None:
            return self.refused(f"there is no data set of that name: there are {', '.join(d.name for d in self.data)}")
        return self._text("tool_look", output=self._view(data.shown(), self.wanted.preview.tokens), remarks="")

    def refused(self, problem: str) -> str:
        return self._text("tool_refused", problem=problem)

    def use_tools(self) -> str:
        return self._text("use_tools")

    def hint(self) -> str:
        """After two failures running, a change of tack."""
        return self._text("diagnose", failures=self.progress.failures) if self.progress.failures >= 2 else ""

    def result_view(self, attempt: Attempt) -> str:
        printed = self._plain(attempt.stdout.strip(), 1000)
        if attempt.table is None:
            return f"{self._plain(attempt.message)}\n{printed}".strip()
        rows = self.wanted.preview.rows or 5
        picture = picture_of(attempt.table.frame, attempt.table.types, rows)
        height = attempt.effect.rows["after"] if attempt.effect is not None else None
        if isinstance(height, int):  # of the real result, where the cells are stand-ins
            picture = replace(picture, height=height)
        text = self._view(Shown("result", picture), max(200, self.wanted.preview.tokens // 3), rows)
        return f"{text}\nprinted:\n{printed}" if printed else text

    def _view(self, shown: Shown, tokens: int, rows: int | None = None) -> str:
        made = view(shown, self.wanted.preview.rows if rows is None else rows, tokens)
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
        return self.veil.scrub(made.text)

    def _effect(self, attempt: Attempt) -> str:
        return self._plain(attempt.effect.summary if attempt.effect is not None else attempt.message)

    def _looks_left(self) -> str:
        return f"{self.limits.probes - len(self.progress.probes)} looks are left."

    def _remarks(self, attempt: Attempt) -> list[str]:
        """What looks wrong with a result that is a table all the same."""
        if attempt.table is None or attempt.effect is None:
            return []
        frame = attempt.table.frame
        remarks = self._stand_ins()
        if attempt.effect.rows["after"] == 0:
            remarks.append("The result has no rows. Check that the conditions are spelled as the values are.")
        empty = [column.name for column in frame.iter_columns() if column.null_count() == frame.height > 0]
        if empty:
            remarks.append(f"Without any value: {self._plain(', '.join(empty), 400)}. Check how they are computed.")
        return remarks

    @property
    def masked(self) -> bool:
        return any(one.masked for one in self.data)

    def _stand_ins(self) -> list[str]:
        """Why values look odd when some are masked."""
        return [self._text("stand_ins").strip()] if self.masked else []

    def _assertions(self) -> list[str]:
        if not self.wanted.assertions:
            return []
        return ["The result must hold:", *(f"- {text}" for text in self.wanted.assertions)]

    def _plain(self, text: str, most: int | None = None) -> str:
        """Text that came out of data or programs: inert, bounded, and without masked values."""
        return plain(self.veil.scrub(text), most or self.limits.feedback_characters)

    def _text(self, name: str, **variables: object) -> str:
        return self.prompts.render(f"{KEY}_{name}", **variables).text
