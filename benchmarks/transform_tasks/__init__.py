"""Tasks over real public tables (vega-datasets on PyPI), each with code that solves it and a checked answer."""

from __future__ import annotations

from benchmarks.transform_tasks import combining, grouping, reshaping, selecting, sequences
from benchmarks.transform_tasks.task import Task

TASKS: tuple[Task, ...] = (*selecting.TASKS, *grouping.TASKS, *reshaping.TASKS, *sequences.TASKS, *combining.TASKS)
