"""Recorded replies, code, input and seed give the same result again, byte for byte, with no model in reach."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from services.execution.transform.transform import Transform
from shared.contracts.transform import TransformInput, TransformResult
from shared.errors import ProvidersFailed
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner
from shared.llm.recorder import RecordingMissing
from shared.llm.settings import CallSettings, ProviderSettings
from shared.loop import Budget
from tests.services.execution.transform.support import TransformJobs
from tests.support.languages import skip_unless_installed
from tests.support.scripted import ScriptedLlm, scripted_llm

__all__ = ["scripted_llm"]
FRAME = pl.DataFrame({"city": ["Berlin", "Paris", "Rome", "Oslo"] * 30, "amount": [n / 7 for n in range(120)]})
DRAW = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.scatter(data.amount, data.amount ** 2)"
#: By what a model answers in turn: an error, a view of the data, a result that needs luck, DONE.
SHUFFLED = (
    "```python\nresult = data['town']\n```",
    "```python look\nprint(data.sample(3, random_state=None))\n```",
    "```python\nimport numpy as np\nresult = data.sample(frac=1).assign(luck=np.random.rand(len(data)))\n```",
    "DONE",
)
TASKS: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "pandas": (SHUFFLED, {}),
    "polars": (
        (
            "```python\nimport polars as pl\nresult = data.group_by('city', 'amount').agg().sample(fraction=1.0)\n```",
            "DONE",
        ),
        {"dataframe": "polars"},
    ),
    "sql": (("```sql\nSELECT *, random() AS luck FROM data ORDER BY luck\n```", "DONE"), {"language": "sql"}),
    "r": (
        ("```r\nresult <- data[sample(nrow(data)), ]\nresult$luck <- runif(nrow(data))\n```", "DONE"),
        {"language": "r"},
    ),
    "plot": ((f"```python\n{DRAW}\nresult = fig\n```", "DONE"), {"output": "plot"}),
    "masked": (SHUFFLED, {"preview": {"mask": ["city"]}}),
}
KINDS: Mapping[str, Callable[[io.BytesIO], object]] = {
    "csv": FRAME.write_csv,
    "parquet": FRAME.write_parquet,
    "arrow": FRAME.write_ipc,
}


@dataclass(frozen=True)
class Replayed:
    """A job that can be run with a model, and again without one."""

    jobs: TransformJobs
    wanted: TransformInput
    recordings: Path

    def run(self, url: str, record: str) -> TransformResult:
        providers = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": url}
        calls: dict[str, Any] = {"recordings": self.recordings, "record": record}
        layer = LlmLayer(ProviderSettings(providers), CallSettings(**calls), None, None)
        budget = Budget()
        try:
            context = replace(self.jobs.context(), llm=layer.for_job(Owner("tenant", None), budget), budget=budget)
            return Transform(self.jobs.sandbox)(context, self.wanted)
        finally:
            layer.close()

    def again(self) -> TransformResult:
        """Run it again; no server listens where the model was."""
        return self.run("http://127.0.0.1:9/v1", "replay")

    def content(self, result: TransformResult) -> bytes:
        file_id = result.plot_file_id or (result.table.file_id if result.table is not None else None)
        assert file_id is not None
        return self.jobs.files.contents[file_id][1]


def job(jobs: TransformJobs, name: str, kind: str, folder: Path) -> Replayed:
    target = io.BytesIO()
    KINDS[kind](target)
    file_id = jobs.files.add(f"data.{kind}", target.getvalue())
    body = {"task": "do it", "data": [{"name": "data", "file_id": file_id}], "seed": 7, **TASKS[name][1]}
    body["confirm"] = "always"  # random numbers cannot be computed a second time
    return Replayed(jobs, TransformInput.model_validate(body), folder)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("pandas", kind) for kind in KINDS),
        *((name, "csv") for name in TASKS if name != "pandas"),
    ],
)
def test_a_recorded_job_gives_the_same_bytes_again(
    jobs: TransformJobs, scripted_llm: ScriptedLlm, tmp_path: Path, name: str, kind: str
) -> None:
    replayed = job(jobs, name, kind, tmp_path / "recordings")
    skip_unless_installed(jobs.sandbox, replayed.wanted.language)
    scripted_llm.play({"replies": list(TASKS[name][0])})
    first = replayed.run(scripted_llm.base_url("openai"), "record")
    assert first.status == "done"
    asked = len(scripted_llm.requests())
    again = replayed.again()
    assert len(scripted_llm.requests()) == asked
    assert replayed.content(again) == replayed.content(first)
    timeless = {"iterations": {"__all__": {"seconds"}}, "table": {"file_id"}, "plot_file_id": True}
    assert again.model_dump(exclude=timeless) == first.model_dump(exclude=timeless)  # type: ignore[arg-type]


@pytest.mark.slow(seconds=2)
def test_another_seed_or_input_is_another_job(jobs: TransformJobs, scripted_llm: ScriptedLlm, tmp_path: Path) -> None:
    replayed = job(jobs, "pandas", "csv", tmp_path / "recordings")
    scripted_llm.play({"replies": list(SHUFFLED)})
    first = replayed.run(scripted_llm.base_url("openai"), "record")
    code = replace(replayed, wanted=replayed.wanted.model_copy(update={"code": first.code}))
    assert replayed.content(code.again()) == replayed.content(first)
    other = replace(code, wanted=code.wanted.model_copy(update={"seed": 8}))
    assert replayed.content(other.again()) != replayed.content(first)
    changed = replace(replayed, wanted=replayed.wanted.model_copy(update={"task": "do something else"}))
    with pytest.raises((RecordingMissing, ProvidersFailed)):
        changed.again()
