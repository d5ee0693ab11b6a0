"""`assay eval shadow`: a share of live jobs, done again with another model or prompt."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import shadows
from assay.commands import show
from assay.commands.session import answer

app = App(name="shadow", help="Rerun a share of live jobs with another model or prompt, and compare the answers.")


@app.command(name="start")
def start_shadow(
    kind: Annotated[str, Parameter(help="transform, document or search")],
    *,
    model: Annotated[str | None, Parameter(help="provider/model")] = None,
    prompt: Annotated[str | None, Parameter(help="key@version")] = None,
    share: Annotated[float | None, Parameter(help="Of the jobs that call a model (default: 0.01)")] = None,
    tokens_per_day: Annotated[int | None, Parameter(help="What it may take in 24 hours: 100,000 when left out")] = None,
) -> None:
    """Choose jobs from now on. The result is an evaluation: `assay eval shadow show ID`."""
    answer(shadows.start(kind, model=model, prompt=prompt, share=share, tokens_per_day=tokens_per_day), _as_text)


@app.command(name=["ls", "list"])
def list_shadows() -> None:
    """List shadows, newest first."""
    columns = ["id", "kind", "model", "prompt", "share", "state", "tokens today", "created"]
    answer(shadows.page(limit=200), show.listing(columns, _row))


@app.command(name=["show", "get"])
def show_shadow(id: Annotated[str, Parameter(help="Shadow test id")]) -> None:
    """Show what it has spent and skipped, and its model's results compared with the live one."""
    answer(shadows.get(id), _as_text)


@app.command(name="stop")
def stop_shadow(id: Annotated[str, Parameter(help="Shadow test id")]) -> None:
    """Choose no further job."""
    answer(shadows.stop(id), _as_text)


def _row(shadow: dict[str, Any]) -> list[object]:
    named = [shadow[name] for name in ("id", "kind", "model", "prompt", "share", "state")]
    return [*named, _spent(shadow), show.clock(shadow["created_at"])]


def _spent(shadow: dict[str, Any]) -> str:
    return f"{shadow['tokens_today']}/{shadow['tokens_per_day']}"


def _as_text(shadow: dict[str, Any]) -> str:
    other = " ".join(filter(None, (shadow["model"], shadow["prompt"])))
    head = f"{shadow['id']} {shadow['state']}: {shadow['share']:.3g} of {shadow['kind']} jobs again with {other}"
    lines = [head, f"tokens of 24 hours: {_spent(shadow)}"]
    if shadow["passed_over"]:
        lines.append("passed over: " + ", ".join(f"{cause} {n}" for cause, n in sorted(shadow["passed_over"].items())))
    for evaluation in shadow["evaluations"]:
        totals = ", ".join(f"{each['variant']} {each['successes']}/{each['runs']}" for each in evaluation["totals"])
        lines.append(f"assay eval show {evaluation['id']}   {evaluation['state']}: {totals}")
    return "\n".join(lines)
