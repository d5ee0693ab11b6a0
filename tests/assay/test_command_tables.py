"""Tables out of the command: files by their ending, pipes with every row, questions with a status of their own."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from tests.assay.terminal import DATA, Shell, written

ROWS = 21_430


@pytest.fixture(scope="module")
def mid(shell: Shell) -> tuple[str, str]:
    """Data with many rows, and code that keeps them all."""
    data = written(shell, "mid.csv", "k,v\n" + "".join(f"{n},=v{n}\n" for n in range(ROWS)))
    return data, written(shell, "keep.py", "result = data.assign(w=data.k * 2)\n")


@pytest.mark.slow
def test_a_pipe_gets_every_row_in_the_format_asked_for(shell: Shell, mid: tuple[str, str]) -> None:
    data, code = mid
    ran = shell("transform", data, "x", "--code", code)
    assert ran.status == 0, ran.talk
    rows = list(csv.reader(io.StringIO(ran.out)))
    assert (len(rows), rows[0], rows[-1]) == (ROWS + 1, ["k", "v", "w"], ["21429", "=v21429", "42858"])
    lines = shell("transform", data, "--code", code, "--format", "jsonl").out.splitlines()
    assert (len(lines), json.loads(lines[-1])) == (ROWS, {"k": 21429, "v": "=v21429", "w": 42858})


@pytest.mark.slow
def test_o_writes_what_the_ending_says(shell: Shell, mid: tuple[str, str]) -> None:
    data, code = mid
    first = shell("transform", data, "--code", code, "--label", "table=mid", "-o", "a.csv.gz")
    assert (first.status, first.out, "saved a.csv.gz: 21,430 rows" in first.talk) == (0, "", True), first.talk
    assert gzip.decompress((shell.folder / "a.csv.gz").read_bytes()).count(b"\n") == ROWS + 1
    id = shell("jobs", "ls", "--label", "table=mid", "--json").json["items"][0]["id"]
    for name in ("a.xlsx", "a.feather", "a.json", "a.parquet"):
        saved = shell("jobs", "result", id, "-o", name)
        assert saved.status == 0, saved.talk
    book = openpyxl.load_workbook(shell.folder / "a.xlsx", read_only=True)
    assert sum(1 for _ in book["result"].iter_rows()) == ROWS + 1
    book.close()
    frames = [
        pd.read_feather(shell.folder / "a.feather"),
        pd.read_json(shell.folder / "a.json"),
        pd.read_parquet(shell.folder / "a.parquet"),
    ]
    assert all(len(frame) == ROWS and frame["w"].sum() == frames[0]["w"].sum() for frame in frames)
    assert [path.name for path in shell.folder.glob(".a.*")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out.xyz", "out", "out.parquet.gz", "no/such/out.csv", "."])
def test_what_cannot_be_written_is_refused_before_anything_is_asked(shell: Shell, name: str) -> None:
    ran = shell("transform", written(shell, "d.csv", DATA), "sum n by city", "-o", name)
    assert (ran.status, ran.out) == (2, "")
    assert "job" not in ran.talk


@pytest.mark.slow
def test_json_saves_the_file_too(shell: Shell) -> None:
    code = written(shell, "same.py", "result = data")
    ran = shell("transform", written(shell, "d.csv", DATA), "--code", code, "-o", "j.csv", "--json")
    assert ran.json["state"] == "succeeded"
    assert (shell.folder / "j.csv").read_text() == DATA


@pytest.mark.slow
def test_a_result_without_a_table_or_a_job_without_an_end_is_said(shell: Shell) -> None:
    job = shell("execute", written(shell, "p.py", "1"), "--json").json
    ran = shell("jobs", "result", job["id"], "-o", "x.csv")
    assert (ran.status, "no table" in ran.talk) == (2, True)
    wrong = shell("jobs", "result", job["id"], "--format", "csv")
    assert (wrong.status, "no such form" in wrong.talk) == (1, True)
    assert not (shell.folder / "x.csv").exists()


@pytest.mark.slow
def test_a_question_of_the_model_is_no_success(shell: Shell) -> None:
    ran = shell("transform", written(shell, "d.csv", DATA), "ask me first", "-o", "asked.csv", "-q")
    assert (ran.status, ran.out) == (6, "")
    assert "Which currency" in ran.talk
    assert not (shell.folder / "asked.csv").exists()
    conversation = ran.talk.split("--conversation ")[1].split()[0]
    reply = ["--conversation", conversation, "--answer", "in euros", "--confirm", "never"]
    went = shell("transform", "d.csv", *reply, "-o", "asked.csv")
    assert went.status == 0, went.talk
    assert (shell.folder / "asked.csv").read_text().splitlines()[0] == "city,n,currency"
    once = shell("transform", "d.csv", "ask me first", "--answer", "in euros", "--confirm", "never")
    assert (once.status, once.out.splitlines()[0]) == (0, "city,n,currency")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["execute", "a.rb"], ".mjs (JavaScript)"),
        (["transform", "d.csv", "--code", "a.rb"], ".sql (DuckDB SQL)"),
        (["transform", "d.csv", "--code", "a.js"], ".r (R)"),
    ],
)
def test_an_ending_of_no_known_language_is_no_python(shell: Shell, words: list[str], said: str) -> None:
    written(shell, "a.rb", "puts 1")
    written(shell, "a.js", "1")
    written(shell, "d.csv", DATA)
    ran = shell(*words)
    assert (ran.status, said in ran.talk) == (2, True), ran.talk


@pytest.mark.slow
def test_sql_is_run_as_sql(shell: Shell) -> None:
    sql = written(shell, "tot.sql", "SELECT city, sum(n) AS n FROM data GROUP BY city ORDER BY city")
    ran = shell("transform", written(shell, "d.csv", DATA), "--code", sql)
    assert (ran.status, ran.out) == (0, "city,n\nOslo,4\nRome,2\n"), ran.talk


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_of_a_table_is_no_error(shell: Shell, mid: tuple[str, str]) -> None:
    data, code = mid
    for words in (["status"], ["transform", data, "--code", code]):
        line = " ".join(Shell.command(words))
        env = {**shell.env, "PYTHONUNBUFFERED": "1"}  # every line is written by itself: the second meets a closed pipe
        ran = subprocess.run(
            ["bash", "-c", f"{line} | head -1"], cwd=shell.folder, env=env, capture_output=True, text=True, check=False
        )
        assert len(ran.stdout.splitlines()) == 1
        assert not any(word in ran.stderr for word in ("Traceback", "Broken pipe", "Exception")), ran.stderr
    assert Path(shell.folder / data).exists()
