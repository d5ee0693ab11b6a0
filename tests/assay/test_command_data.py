"""Data into the command: standard input, sheets, delimiters, encodings, patterns and folders of files."""

from __future__ import annotations

import openpyxl
import pandas as pd
import pytest

from tests.assay.terminal import DATA, Shell, written


@pytest.fixture(scope="module")
def same(shell: Shell) -> list[str]:
    return ["--code", written(shell, "same.py", "result = data")]


@pytest.mark.slow
def test_data_comes_from_standard_input(shell: Shell, same: list[str]) -> None:
    ran = shell("transform", "-", *same, stdin=DATA)
    assert (ran.status, ran.out) == (0, DATA), ran.talk
    lines = shell("transform", "-", *same, stdin='{"a": 1}\n{"a": 2}\n')
    assert (lines.status, lines.out) == (0, "a\n1\n2\n"), lines.talk
    twice = shell("transform", "-", *same, "--data", "more=-", stdin=DATA)
    assert (twice.status, "only one" in twice.talk) == (2, True)


@pytest.mark.slow
def test_a_sheet_a_delimiter_and_an_encoding_can_be_named(shell: Shell, same: list[str]) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("totals").append(["x"])
    book["totals"].append([7])
    book["Sheet"].append(["y"])
    book["Sheet"].append([1])
    book.save(shell.folder / "book.xlsx")
    assert shell("transform", "book.xlsx", *same, "--sheet", "totals").out == "x\n7\n"
    wrong = shell("transform", "book.xlsx", *same, "--sheet", "nope", "-q")
    assert (wrong.status, "it has 'Sheet', 'totals'" in wrong.talk) == (1, True), wrong.talk
    (shell.folder / "odd.csv").write_bytes("city#n\nKöln#1\n".encode("utf-16-le"))
    odd = shell("transform", "odd.csv", *same, "--delimiter", "#", "--encoding", "utf-16-le")
    assert (odd.status, odd.out) == (0, "city,n\nKöln,1\n"), odd.talk
    none = shell("transform", "odd.csv", *same, "--encoding", "klingon", "-q")
    assert (none.status, "no text encoding 'klingon'" in none.talk) == (1, True)
    assert shell("transform", "odd.csv", *same, "--delimiter", "ab").status == 2


@pytest.mark.slow
def test_the_header_the_decimal_sign_and_marks_for_missing_can_be_stated(shell: Shell, same: list[str]) -> None:
    written(shell, "report.csv", 'a,b\nold,names\ncity,n\nBern,"1,5"\nUlm,k. A.\n')
    options = ("--header-row", "3", "--decimal", ",", "--na-value", "k. A.", "--na-value", "Ulm")
    ran = shell("transform", "report.csv", *same, *options)
    assert (ran.status, ran.out) == (0, "city,n\nBern,1.5\n,\n"), ran.talk
    skipped = shell("transform", "report.csv", *same, "--skip", "2", "--na-value", "k. A.")
    assert (skipped.status, skipped.out) == (0, 'city,n\nBern,"1,5"\nUlm,\n'), skipped.talk
    bare = shell("transform", "report.csv", *same, "--header-row", "0")
    assert bare.out.splitlines()[0] == "column_1,column_2", bare.talk
    assert shell("transform", "report.csv", *same, "--decimal", ";").status == 2


@pytest.mark.slow
def test_files_of_a_folder_or_a_pattern_are_one_table(shell: Shell, same: list[str]) -> None:
    parts = shell.folder / "parts"
    (parts / "b").mkdir(parents=True)
    (parts / ".hidden").mkdir()
    for name, n in (("a.parquet", 1), ("b/c.parquet", 2), (".hidden/d.parquet", 3)):
        pd.DataFrame({"n": [n, n * 10]}).to_parquet(parts / name)
    assert shell("transform", "parts", *same).out == "n\n1\n10\n2\n20\n"
    for name, text in (("m1.csv", "a,b\n1,x\n"), ("m2.csv", "b,a\ny,2.5\n"), ("m3.csv", "a,c\n1,2\n")):
        written(shell, name, text)
    both = shell("transform", "m[12].csv", *same)
    assert (both.status, both.out) == (0, "a,b\n1.0,x\n2.5,y\n"), both.talk
    other = shell("transform", "m?.csv", *same, "-q")
    assert (other.status, "file 3: its columns are not those of the first file: b, c" in other.talk) == (1, True)
    assert shell("transform", "nothing*.csv", *same).status == 2
    written(shell, "parts/e.csv", DATA)
    mixed = shell("transform", "parts", *same)
    assert (mixed.status, "parts mixes .csv, .parquet; give a pattern" in mixed.talk) == (2, True)


@pytest.mark.slow
def test_a_collection_is_begun_from_a_file_after_a_look_at_it(shell: Shell) -> None:
    rows = "talk_id,title,abstract,track\n" + "".join(
        f"t{n},Title {n},Some words that are long enough to be prose of talk {n},web\n" for n in range(3)
    )
    file = written(shell, "talks.csv", rows)
    seen = shell("ingest", file, "-c", "begun", "--dry-run")
    assert seen.status == 0, seen.talk
    roles = dict(line.split("\t")[:2] for line in seen.out.splitlines())
    assert roles == {
        "column": "becomes", "talk_id": "id", "title": "name", "abstract": "text", "track": "field: keyword",
    }  # fmt: skip
    missing = shell("ingest", file, "-c", "begun")
    assert (missing.status, "--create" in missing.talk) == (3, True)
    made = shell("ingest", file, "-c", "begun", "--create", "--no-wait", "--id", "title", "--text", "abstract")
    assert made.status == 0, made.talk
    tables = shell("collection", "get", "begun", "--json").json["tables"]
    assert tables["talks"]["fields"] == {"talk_id": "keyword", "track": "keyword"}
    assert shell("ingest", file, "-c", "begun", "--dry-run", "--id", "nope").status == 2
    assert shell("collection", "rm", "begun").status == 0
