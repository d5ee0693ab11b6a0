"""The graded tasks of the other kinds, evaluated in an installation of its own with a real model.

Those of documents are left out: they expect the words of a script, not of a model.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluation import fill
from benchmarks.evaluation_suites import write_detect, write_flows, write_search
from benchmarks.real_model.figures import interval
from benchmarks.real_model.installed import installation

SUITES: Mapping[str, Callable[[Path], Path]] = {
    "flows": write_flows,
    "search": write_search,
    "detect": write_detect,
}
HEAD = "| model | suite | right | 95 % | turns | tokens | why the others failed |\n|---|---|---|---|---|---|---|"
_MAX_TOKENS = 400  #: of an answer
_PATIENT = {f"ASSAY_LLM_{name}_SECONDS": "900" for name in ("FIRST_TOKEN", "IDLE", "TOTAL")}


def evaluated(url: str, model: str, names: Sequence[str], cases: int | None) -> list[str]:
    """Return a line for each suite; ``cases``: at most that many of each, evenly over the suite."""
    lines = []
    with tempfile.TemporaryDirectory(prefix="assay-suites-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with installation(url, model, _MAX_TOKENS, _PATIENT) as env:
            if "search" in names:
                fill(folder, env)
            for suite in names:
                path = SUITES[suite](folder)
                every = path.read_text().splitlines()
                count = min(cases or len(every), len(every))
                path.write_text("\n".join(every[number * len(every) // count] for number in range(count)))
                lines.append(_line(suite, model, count, _evaluation(env, path)))
    return lines


def _evaluation(env: Mapping[str, str], suite: Path) -> dict[str, Any]:
    """Run the suite, one case after another, and return the evaluation."""
    command = [sys.executable, "-P", "-m", "assay", "--json", "eval", "run", str(suite), "--yes", "--concurrency", "1"]
    ran = subprocess.run(command, env=dict(env), cwd=env["ASSAY_HOME"], capture_output=True, text=True, check=False)
    if not ran.stdout.strip():
        sys.exit(f"{suite.stem}: it gave no evaluation:\n{ran.stderr[-2000:]}")
    evaluation: dict[str, Any] = json.loads(ran.stdout)
    return evaluation


def _line(suite: str, model: str, count: int, evaluation: Mapping[str, Any]) -> str:
    """Return a row of the table of suites."""
    cells = evaluation["cells"]
    right = sum(cell["successes"] for cell in cells)
    low, high = interval(right, count)
    causes = Counter[str]()
    for cell in cells:
        causes.update(cell["failures"])
    failed = ", ".join(f"{cause} {number}" for cause, number in causes.most_common()) or "-"
    turns = sum(cell["turns"] or 0 for cell in cells) / count
    tokens = sum(cell["tokens"] for cell in cells) / count
    return f"| {model} | {suite} | {right}/{count} | {low:.0%} to {high:.0%} | {turns:.2f} | {tokens:.0f} | {failed} |"
