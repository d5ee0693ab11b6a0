"""Whether a finished job is what its case expects, and else the cause, by which failures are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from pydantic import JsonValue

from shared.bounded_process import BoundExceeded, Bounds, call
from shared.contracts.evaluations import Expectation, ExpectedBudget
from shared.evaluations import expected_flow, expected_table
from shared.evaluations.expected_flow import TooSymmetrical
from shared.kinds import case_rules

Json = Mapping[str, Any]
_MAX_DETAIL = 500


@dataclass(frozen=True)
class Used:
    """What a run took."""

    turns: int
    tokens: int
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """``cause`` is a word that failures are counted by, ``detail`` says more to a person; both None on success."""

    success: bool
    cause: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class FinishedRun:
    """A finished job, as far as an expectation may speak of it."""

    kind: str
    state: str
    result: Json | None
    error: Json | None
    used: Used


#: Of one comparison. Tables and flows can be made so that comparing them takes hours.
SCORE_BOUNDS = Bounds(memory_mb=512, cpu_seconds=5.0, wall_seconds=60.0, output_mb=1)
_SUCCESS = Outcome(True)
_Finding = tuple[str, str]  #: cause and detail


def scored(expect: Json, run: FinishedRun) -> Outcome:
    """``score``, in a process with bounds: what is compared is a tenant's.

    A fault of the comparison is an outcome, too: it neither holds up the evaluation nor counts as a success.
    """
    try:
        argument = cast(JsonValue, {"expect": expect, "run": asdict(run)})
        success, cause, detail = cast(list[Any], call(score_run, argument, SCORE_BOUNDS))
    except BoundExceeded as exceeded:
        return Outcome(False, "not_scored", f"the result could not be compared: {exceeded}")
    return Outcome(success, cause, detail)


def score_run(argument: JsonValue) -> JsonValue:
    """Score a run; runs in a bounded process."""
    given = cast(dict[str, Any], argument)
    run = FinishedRun(**{**given["run"], "used": Used(**given["run"]["used"])})
    try:
        outcome = score(Expectation.model_validate(given["expect"]), run)
    except (MemoryError, RecursionError):
        raise
    except TooSymmetrical:
        outcome = Outcome(False, "not_scored", "too many nodes of the flow look alike to compare it")
    except Exception as fault:
        outcome = Outcome(False, "not_scored", f"the result could not be compared: {type(fault).__name__}")
    return [outcome.success, outcome.cause, outcome.detail]


def score(expect: Expectation, run: FinishedRun) -> Outcome:
    """Return the first finding in a fixed order, or success."""
    if expect.error is not None or run.state != "succeeded" or run.result is None:
        return _of_failure(expect, run)
    finding = next(_findings(expect, run.kind, run.result), None) or _over(expect.budget, run.used)
    return _SUCCESS if finding is None else _failed(*finding)


def _of_failure(expect: Expectation, run: FinishedRun) -> Outcome:
    error = run.error or {}
    code = str(error.get("code") or run.state)
    if expect.error is None:
        return _failed(code, str(error.get("detail") or error.get("title") or f"the job ended as {run.state}"))
    if code != expect.error:
        return _failed("wrong_error", f"{code} instead of {expect.error}")
    over = _over(expect.budget, run.used)
    return _SUCCESS if over is None else _failed(*over)


def _failed(cause: str, detail: str) -> Outcome:
    text = detail.replace("\0", "")
    return Outcome(False, cause, text if len(text) <= _MAX_DETAIL else f"{text[: _MAX_DETAIL - 1]}…")


def _findings(expect: Expectation, kind: str, result: Json) -> Iterator[_Finding]:
    """Yield the expectations that a result does not meet."""
    verdict = expect.verdict or case_rules(kind).verdict
    if verdict is not None and result.get("verdict") != verdict:
        yield "wrong_verdict", f"{result.get('verdict')} instead of {verdict}"
    if expect.status is not None and result.get("status") != expect.status:
        yield "wrong_status", f"{result.get('status')} instead of {expect.status}"
    if expect.status is None and result.get("status") == "unverified":
        reasons = list(result.get("unverified_because") or ())
        # What is expected of the table is the check that a small model's result lacks.
        checked = expect.table is not None or bool(expect.assertions)
        against = [reason for reason in reasons if not checked or reason.get("code") != "not_checked"]
        if against or not reasons:
            yield "unverified", " ".join(str(each.get("message")) for each in against) or "the result is not proven"
    if expect.stdout is not None:
        printed = str(result.get("stdout"))
        if printed.rstrip() != expect.stdout.rstrip():
            yield "wrong_output", f"printed {printed.rstrip()!r} instead of {expect.stdout.rstrip()!r}"
    for check in _CHECKS:
        if (finding := check(expect, result)) is not None:
            yield finding


def _table(expect: Expectation, result: Json) -> _Finding | None:
    if expect.table is None:
        return None
    if result.get("status") == "question":
        return "question", str(result.get("question") or "the model has a question")
    differs = expected_table.difference(expected_table.expected_of(expect.table), result.get("table"))
    return None if differs is None else ("wrong_table", differs)


def _assertions(expect: Expectation, result: Json) -> _Finding | None:
    """Return the first failed assertion; the worker checked the case's assertions on the whole result."""
    observed = {check["text"]: check for check in result.get("observed") or ()}
    for text in expect.assertions:
        check = observed.get(text)
        if check is None:
            return "assertion_failed", f"{text}: there is no table that it could hold of"
        if not check["holds"]:
            return "assertion_failed", f"{text}: {check['detail']}"
    return None


def _flow(expect: Expectation, result: Json) -> _Finding | None:
    if expect.flow is None:
        return None
    differs = expected_flow.difference(expect.flow, result.get("flow") or {})
    return None if differs is None else ("wrong_flow", differs)


def _labels(expect: Expectation, result: Json) -> _Finding | None:
    services = result.get("services") or []
    if isinstance(expect.labels, list):
        known = {candidate["id"] for service in services for candidate in service["candidates"]}
        missing = [id for id in expect.labels if id not in known]
        return ("missing_labels", f"not found: {', '.join(missing)}") if missing else None
    by_path = {service["path"]: service for service in services}
    for path, wanted in (expect.labels or {}).items():
        service = by_path.get(path)
        if service is None:
            return "missing_labels", f"no service at {path!r}"
        if isinstance(wanted, Mapping):
            wrong = {kind: id for kind, id in wanted.items() if service["primary"].get(kind) != id}
            for kind, id in wrong.items():
                return "wrong_labels", f"{path!r}: {kind} is {service['primary'].get(kind)!r} instead of {id!r}"
        else:
            known = {candidate["id"] for candidate in service["candidates"]}
            if missing := [id for id in wanted if id not in known]:
                return "missing_labels", f"{path!r}: not found: {', '.join(missing)}"
    return None


def _relevant(expect: Expectation, result: Json) -> _Finding | None:
    if expect.relevant is None:
        return None
    hits: Mapping[str, Sequence[Json]] = result.get("hits") or {}
    by_table = {table: {hit["id"] for hit in listed} for table, listed in hits.items()}
    if isinstance(expect.relevant, Mapping):
        wanted = [(table, id) for table, ids in expect.relevant.items() for id in ids]
        missing = [f"{table}/{id}" for table, id in wanted if id not in by_table.get(table, ())]
        count = len(wanted)
    else:
        everything = set().union(*by_table.values())
        missing, count = [id for id in expect.relevant if id not in everything], len(expect.relevant)
    if count - len(missing) < expect.recall * count - 1e-9:
        return "missed_records", f"{count - len(missing)} of {count} found; not {', '.join(missing[:10])}"
    return None


def _contents(expect: Expectation, result: Json) -> _Finding | None:
    """Check the texts that must and must not occur in the result: its document, answer, output or code."""
    if not expect.required and not expect.forbidden:
        return None
    names = ("markdown", "answer", "response", "stdout", "explanation", "code", "question")
    whole = "\n".join(str(result[name]) for name in names if isinstance(result.get(name), str))
    if missing := [text for text in expect.required if text not in whole]:
        return "missing_content", f"not there: {missing[0]!r}"
    if present := [text for text in expect.forbidden if text in whole]:
        return "forbidden_content", f"there is {present[0]!r}"
    return None


_CHECKS: Sequence[Callable[[Expectation, Json], _Finding | None]] = (
    _table, _assertions, _flow, _labels, _relevant, _contents,
)  # fmt: skip


def _over(budget: ExpectedBudget | None, used: Used) -> _Finding | None:
    """Return the exceeded bound; an unknown cost exceeds any bound."""
    if budget is None:
        return None
    for name in ("turns", "tokens", "cost_usd", "seconds"):
        most, taken = getattr(budget, name), getattr(used, name)
        if most is not None and (taken is None or taken > most):
            return "over_budget", f"{name}: {'unknown' if taken is None else f'{taken:g}'}, at most {most:g} expected"
    return None
