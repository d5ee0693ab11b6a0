"""Suites as files: what is read, where a fault is, and which files are sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from assay.commands import evaluation_pair
from assay.commands.evaluate import variants_of
from assay.commands.evaluation_page import page
from assay.commands.evaluation_verdict import reported, unmet
from assay.commands.session import UsageError
from assay.suites.files import CaseFiles
from assay.suites.read import SuiteError, read_suite

SUITE = """\
name: totals
cases:
  - name: by city
    kind: transform
    input: {task: "total amount by city", data: [{name: data, file: sales.csv}]}   # `file` is read next to the suite
    expect: {table: {csv: "city,total\\nOslo,8\\nRome,4", order: any, tolerance: 0.001}}
  - name: product
    kind: execute
    input: {language: python, code: "print(6*7)"}
    expect: {verdict: ok, stdout: "42"}
"""


def written(folder: Path, text: str, name: str = "suite.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def fault_of(folder: Path, text: str, name: str = "suite.yaml") -> SuiteError:
    with pytest.raises(SuiteError) as caught:
        read_suite(written(folder, text, name))
    return caught.value


def sent(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The suite as it is sent, and the names of the files that went up."""
    names: list[str] = []

    def upload(content: Path | BinaryIO, name: str) -> str:
        names.append(name)
        return f"file-{len(names)}"

    def make_flow(flow: Mapping[str, Any]) -> str:
        return f"flow of {len(flow['nodes'])}"

    case_files = CaseFiles(read_suite(path), upload, make_flow)
    case_files.check()
    return case_files.sent(), names


def test_a_suite_is_read_and_its_files_are_sent_once(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("city,total\n")
    again = "  - {name: again, kind: transform, input: {task: t, data: [{name: data, file: sales.csv}]}}\n"
    suite, names = sent(written(tmp_path, SUITE + again))
    assert names == ["sales.csv"]
    assert [case["name"] for case in suite["cases"]] == ["by city", "product", "again"]
    assert (
        suite["cases"][0]["input"]["data"]
        == suite["cases"][2]["input"]["data"]
        == [{"name": "data", "file_id": "file-1"}]
    )


def test_every_kind_gets_its_files_as_it_expects_them(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.py").write_text("")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "flow.json").write_text('{"nodes": [{"id": "1"}], "edges": []}')
    inputs: list[tuple[str, Any, Any]] = [
        ("execute", {"files": [{"path": "b.txt", "file": "a.txt"}]}, {"files": [{"path": "b.txt", "id": "file-1"}]}),
        ("detect", {"source": {"file": "app"}}, {"source": {"file_id": "file-2"}}),
        ("document", {"file": "a.txt"}, {"file_id": "file-1"}),
        ("flow", {"message": "m", "flow": {"file": "flow.json"}}, {"flow_id": "flow of 1", "message": "m"}),
        ("transform", {"data": [{"rows": [{"file": "x"}]}]}, {"data": [{"rows": [{"file": "x"}]}]}),
    ]  # fmt: skip
    lines = [json.dumps({"name": str(n), "kind": kind, "input": given}) for n, (kind, given, _) in enumerate(inputs)]
    suite, names = sent(written(tmp_path, "\n".join(lines), "mine.jsonl"))
    assert suite["name"] == "mine"
    assert [case["input"] for case in suite["cases"]] == [wanted for _, _, wanted in inputs]
    assert names == ["a.txt", "app.tar.gz"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x\n", "suite.yaml:1: cases is missing"),
        ("name: x\ncases:\n- name: a\n  kind: execute\n  input: {}\n  expect:\n    stdut: '1'\n",
         "suite.yaml:7: cases[0].expect.stdut is not known"),
        ("name: x\ncases:\n- name: a\n  kind: execute\n", "suite.yaml:3: cases[0].input is missing"),
        ("name: x\ncases:\n- name: a\n  kind: execute\n  input: {}\n  input: {}\n",
         "suite.yaml:6: cases[0].input: it is there twice"),
        ("name: x\ncases:\n- &a {name: a, kind: b, input: {}}\n- *a\n", "suite.yaml:3: aliases are not read"),
        ("name: x\ncases: [\n", "suite.yaml:3: did not find expected node content"),
        ("- 1\n", "suite.yaml:1: a suite is one mapping with name and cases"),
        ("name: x\ncases:\n- name: a\n  kind: b\n  input:\n    day: 2026-01-02\n",
         "suite.yaml:6: cases[0].input.day: no value of JSON"),
        ("name: x\ncases:\n- name: a\n  kind: transform\n  input: {}\n  expect:\n    table: {csv: a, tolerance: big}\n",
         "suite.yaml:7: cases[0].expect.table.tolerance"),
        ("name: x\ncases:\n- name: a\n  kind: transform\n  input: {}\n  expect:\n    assertions:\n    - rows >\n",
         "suite.yaml:8: cases[0].expect.assertions[0]: assertion 'rows >' does not parse"),
    ],
)  # fmt: skip
def test_a_fault_names_its_line_and_field(tmp_path: Path, text: str, told: str) -> None:
    assert str(fault_of(tmp_path, text)).startswith(str(tmp_path / told))


def test_a_fault_of_json_lines_names_its_line(tmp_path: Path) -> None:
    good = '{"name": "a", "kind": "execute", "input": {}}\n'
    assert fault_of(tmp_path, f"{good}\n{{bad\n", "s.jsonl").line == 3
    wrong = fault_of(tmp_path, f'{good}{{"name": "b", "kind": 7, "input": {{}}}}\n', "s.jsonl")
    assert (wrong.line, wrong.field) == (2, "cases[1].kind")
    assert fault_of(tmp_path, '{"name": "a", "kind": "e", "input": {"x": NaN}}', "s.jsonl").line == 1
    with pytest.raises(SuiteError, match="there is no such suite"):
        read_suite(tmp_path / "none.yaml")


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/hostname", "link.csv", "none.csv"])
def test_only_files_below_the_suites_folder_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.csv").write_text("a")
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    suite = written(folder, SUITE.replace("sales.csv", name))
    with pytest.raises(SuiteError) as caught:
        sent(suite)
    assert (caught.value.line, caught.value.field) == (5, "cases[0].input.data[0].file")


def view(**more: Any) -> dict[str, Any]:
    numbers = {"runs": 10, "successes": 8, "interval": [0.49, 0.94], "turns": 2.0, "tokens": 5, "cost_usd": None,
               "seconds": 1.0, "failures": {"wrong_table": 2}}  # fmt: skip
    compared = {"a": "<b>", "b": "<b>", "difference": -0.1, "p": 0.5, "interval": [-0.3, 0.0], "cases": 10}
    whole = {
        "id": "e1", "name": "s", "state": "finished", "created_at": "2026-01-01", "repeat": 1, "cases": ["<i>one"],
        "variants": [{"name": "<b>", "model": None, "prompt": None}], "unstable": ["<i>one / <b>"],
        "cells": [{"case": "<i>one", "variant": "<b>", "jobs": ["j"], **numbers}],
        "totals": [{"variant": "<b>", **numbers}], "comparisons": [compared], "baseline": [compared],
    }  # fmt: skip
    return {**whole, **more}


def test_what_json_prints_has_these_keys_and_no_others() -> None:
    told = reported(view())
    assert list(told) == ["id", "state", "variants", "cells", "totals", "comparisons"]
    assert list(told["cells"][0]) == [
        "case", "variant", "runs", "successes", "interval", "turns", "tokens", "cost_usd", "seconds", "failures",
        "jobs",
    ]  # fmt: skip
    assert list(told["totals"][0]) == ["variant", "runs", "successes", "interval"]
    assert list(told["comparisons"][0]) == ["a", "b", "difference", "p"]


def test_what_will_not_do_is_told() -> None:
    assert unmet(view(), 0.8, None, None) == []
    assert unmet(view(), 0.9, None, None) == ["<b>: 0.800 of the runs succeeded, 0.9 required"]
    assert len(unmet(view(), None, "e0", None)) == 1
    assert unmet(view(), None, "e0", 0.05) == []
    assert len(unmet(view(baseline=[]), None, "e0", None)) == 1
    assert len(unmet(view(state="budget_spent"), None, None, None)) == 1


def test_every_model_is_run_with_every_prompt() -> None:
    assert variants_of([], []) == [{"model": None, "prompt": None}]
    assert variants_of(["a", "b"], ["p@1", "p@2"])[1] == {"model": "a", "prompt": "p@2"}
    assert len(variants_of(["a", "b", "c"], ["p@1", "p@2"])) == 6


def test_the_report_loads_nothing_and_shows_names_as_they_are() -> None:
    text = page(view())
    assert "<svg" in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "src=" not in text
    assert "href=" not in text


def _evaluation(id: str, cells: dict[tuple[str, str], tuple[int, int]]) -> dict[str, Any]:
    variants = dict.fromkeys(variant for _, variant in cells)
    return {
        "id": id,
        "variants": [{"name": name} for name in variants],
        "cells": [
            {"case": case, "variant": variant, "successes": good, "runs": runs}
            for (case, variant), (good, runs) in cells.items()
        ],
    }


def test_two_evaluations_are_compared_case_by_case() -> None:
    kept = {("joins", "m"): (1, 1)}
    first = _evaluation("a", {("sums", "m"): (1, 2), ("sorts", "m"): (2, 2), **kept, ("old", "m"): (1, 1)})
    second = _evaluation("b", {("sums", "m"): (2, 2), ("sorts", "m"): (0, 2), **kept, ("new", "m"): (1, 1)})
    compared = evaluation_pair.compare(first, second)
    changes = {each.case: each.change for each in compared.changes}
    assert changes == {"sums": "better", "sorts": "worse", "joins": "same"}
    assert (compared.missing, compared.new, compared.worse) == (["old"], ["new"], ["m"])
    text = compared.as_text().splitlines()
    assert text[1].split() == ["sorts", "m", "2/2", "0/2", "worse"]
    assert "1 better, 1 worse, 1 the same" in text
    assert evaluation_pair.compare(second, first).worse == []


def test_two_models_that_ran_alone_are_compared() -> None:
    first, second = _evaluation("a", {("sums", "x"): (1, 1)}), _evaluation("b", {("sums", "y"): (0, 1)})
    assert evaluation_pair.compare(first, second).worse == ["x -> y"]


def test_evaluations_without_a_common_case_are_refused() -> None:
    with pytest.raises(UsageError, match="no case and variant of the same names"):
        evaluation_pair.compare(_evaluation("a", {("sums", "m"): (1, 1)}), _evaluation("b", {("sorts", "m"): (1, 1)}))


def test_a_missing_suite_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "totals.yaml").write_text("name: x\ncases: []\n")
    with pytest.raises(SuiteError, match=r"total\.yaml: there is no such suite") as missing:
        read_suite(tmp_path / "total.yaml")
    assert f"did you mean {tmp_path / 'totals.yaml'}?" in str(missing.value)
    assert "assay eval add JOB --suite" in str(missing.value)
