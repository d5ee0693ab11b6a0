"""Cases of finished jobs: input, files next to the suite, and the result as the expectation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.suites.from_job import CaseMaker, append, names_in
from assay.suites.read import SuiteError, read_suite
from shared.contracts.evaluations import Case
from shared.kinds import case_name, case_rules

FILES = {"f1": ("sales.csv", b"city,n\nOslo,1\n"), "f2": ("sales.csv", b"other\n"), "f3": ("../../evil", b"x")}
TABLE = {"columns": [{"name": "city"}, {"name": "n"}], "rows": [["Oslo", 1], [None, 2]], "row_count": 2}
FLOW: dict[str, Any] = {
    "nodes": [{"id": "1", "position": {"x": 1}, "data": {"label": "A", "color": "red"}, "type": "decision"}],
    "edges": [{"id": "e", "source": "1", "target": "1", "data": {"label": "again"}}],
    "settings": {},
}


def maker(folder: Path) -> CaseMaker:
    return CaseMaker(folder, lambda id: FILES[id], lambda id, version: {**FLOW, "nodes": FLOW["nodes"] * version})


def job(kind: str, input: dict[str, Any], result: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    state = "failed" if result is None else "succeeded"
    return {"kind": kind, "input": input, "result": result, "state": state, "budget": {"turns": None}, **more}


def test_a_transform_keeps_its_masks_and_its_files(tmp_path: Path) -> None:
    input = {"task": "t", "data": [{"name": "data", "file_id": "f1"}], "preview": {"mask": ["city"]}}
    made = maker(tmp_path).case(job("transform", input, {"table": TABLE}, budget={"turns": 3}), "one")
    assert made["input"] == {
        "task": "t",
        "data": [{"name": "data", "file": "files/sales.csv"}],
        "preview": {"mask": ["city"]},
    }
    assert made["expect"] == {"table": {"csv": "city,n\nOslo,1\n,2\n", "order": "any"}}
    assert made["budget"] == {"turns": 3}
    assert (tmp_path / "files" / "sales.csv").read_bytes() == FILES["f1"][1]
    Case.model_validate(made)


def test_files_of_one_name_are_kept_apart_and_inside(tmp_path: Path) -> None:
    files = [{"id": id, "path": "a"} for id in ("f1", "f2", "f1", "f3")]
    made = maker(tmp_path).case(job("execute", {"code": "1", "files": files}, None), "one")
    kept = [each["file"] for each in made["input"]["files"]]
    assert kept == ["files/sales.csv", "files/2-sales.csv", "files/sales.csv", "files/evil"]
    assert "expect" not in made


def test_a_follow_up_begins_with_what_it_went_on_from(tmp_path: Path) -> None:
    input = {"task": "t", "data": [{"name": "data", "file_id": "f1"}], "base": "previous"}
    result = {"table": TABLE, "continues": "j0", "inputs": [{"name": "data", "file_id": "f2"}]}
    made = maker(tmp_path).case(job("transform", input, result), "one")
    assert made["input"] == {"task": "t", "data": [{"name": "data", "file": "files/sales.csv"}]}
    assert (tmp_path / "files" / "sales.csv").read_bytes() == FILES["f2"][1]


def test_a_flow_begins_as_it_was_before_the_edit(tmp_path: Path) -> None:
    result = {"flow": FLOW, "version": 3, "proposal_id": None}
    made = maker(tmp_path).case(job("flow", {"flow_id": "f", "message": "m", "mode": "apply"}, result), "one")
    assert len(made["input"]["flow"]["nodes"]) == 2
    assert made["expect"]["flow"]["nodes"] == [{"id": "1", "type": "decision", "data": {"label": "A"}}]
    assert made["expect"]["flow"]["edges"] == [{"id": "e", "source": "1", "target": "1", "data": {"label": "again"}}]


@pytest.mark.parametrize(
    ("kind", "result", "expected"),
    [
        ("execute", {"verdict": "ok", "stdout": "42\n"}, {"verdict": "ok", "stdout": "42\n"}),
        ("execute", {"verdict": "memory", "stdout": "x", "truncated": True}, {"verdict": "memory"}),
        ("transform", {"table": {**TABLE, "row_count": 60}},
         {"assertions": ["rows == 60", 'columns contain "city", "n"']}),
        ("transform", {"table": None}, {}),
        ("search", {"hits": {"a": [{"id": "1"}, {"id": "2", "weak": True}], "b": []}}, {"relevant": {"a": ["1"]}}),
        ("detect", {"services": [{"path": "", "primary": {"language": "go", "runtime": None}}]},
         {"labels": {"": {"language": "go"}}}),
        ("document", {"markdown": "x"}, {}),
    ],
)  # fmt: skip
def test_what_is_expected_is_the_result(kind: str, result: dict[str, Any], expected: dict[str, Any]) -> None:
    assert case_rules(kind).expectation(result) == expected


def test_a_case_is_added_at_the_end_and_nothing_else_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    case = {
        "name": "a: #1",
        "kind": "execute",
        "input": {"code": "print(1)\nprint(2)\n"},
        "expect": {"stdout": "1\n2\n"},
    }
    append(path, case)
    path.write_text(path.read_text() + "# a remark")
    append(path, {**case, "name": "b"})
    assert "# a remark" in path.read_text()
    assert names_in(path) == {"a: #1", "b"}
    assert read_suite(path).content["cases"][0] == case
    lines = tmp_path / "s.jsonl"
    append(lines, case)
    append(lines, {**case, "name": "b"})
    assert names_in(lines) == {"a: #1", "b"}


def test_a_suite_that_ends_with_something_else_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    text = "cases:\n- {name: a, kind: execute, input: {}}\nname: s\n"
    path.write_text(text)
    with pytest.raises(SuiteError):
        append(path, {"name": "b", "kind": "execute", "input": {}})
    assert path.read_text() == text


def test_a_case_is_named_by_what_the_job_was_about() -> None:
    said = job("transform", {"task": "Sum\tby city\nand more"}, {})
    assert case_name(said, set()) == "Sum by city"
    assert case_name(said, {"Sum by city", "Sum by city (2)"}) == "Sum by city (3)"
    assert case_name(job("detect", {"source": {}}, {}), set()) == "detect"
