"""Code that is kept: saved with its columns and assertions, and checked against new data before it runs."""

from __future__ import annotations

from typing import Any

import pytest

from assay import Client
from assay.errors import APIError
from shared.kinds import KINDS, KindSpec
from tests.assay.terminal import DATA, Shell, written


@pytest.mark.slow
def test_kept_code_says_what_changed_in_new_data_before_it_runs(shell: Shell) -> None:
    made = shell(
        "transform", written(shell, "d.csv", DATA), "sum n by city", "--assert", "n > 0", "--assert", "unique(city)",
        "--code-out", "kept.py",
    )  # fmt: skip
    assert made.status == 0, made.talk
    lines = (shell.folder / "kept.py").read_text().splitlines()
    assert lines[:5] == [
        "# assay transform: sum n by city", '# expects data: {"city": "string", "n": "int"}', "# assert: n > 0",
        "# assert: unique(city)", "",
    ]  # fmt: skip
    again = shell("transform", "d.csv", "--code", "kept.py", "--code-out", "kept2.py")
    assert (again.status, again.out) == (0, "city,n\nOslo,4\nRome,2\n"), again.talk
    assert (shell.folder / "kept2.py").read_text() == (shell.folder / "kept.py").read_text()
    renamed = shell("transform", written(shell, "r.csv", "city_name,n\nOslo,1\n"), "--code", "kept.py", "-q")
    assert (renamed.status, renamed.out) == (1, "")
    assert "data has no column 'city' any more, probably renamed to 'city_name'" in renamed.talk
    assert "data has the columns city_name string, n int" in renamed.talk
    wrong = shell("transform", written(shell, "w.csv", "city,n\nOslo,-1\n"), "--code", "kept.py", "-q")
    assert (wrong.status, "'n > 0' does not hold: otherwise in 1 of 1 row" in wrong.talk) == (1, True), wrong.talk
    allowed = shell(
        "transform", "r.csv", "--code", written(shell, "len.py", "result = data"), "--expects", "city:string"
    )
    assert (allowed.status, "probably renamed" in allowed.talk) == (1, True)
    went = shell("transform", "r.csv", "--code", "len.py", "--expects", "city:string", "--allow-drift")
    assert (went.status, went.out) == (0, "city_name,n\nOslo,1\n")


@pytest.mark.slow
def test_a_head_that_cannot_be_read_is_a_slip(shell: Shell) -> None:
    code = written(shell, "bad.py", "# assay transform: x\n# expects data: nonsense\nresult = data\n")
    ran = shell("transform", written(shell, "d.csv", DATA), "--code", code)
    assert (ran.status, "not a JSON object of columns" in ran.talk) == (2, True)


@pytest.mark.slow
def test_code_stands_on_the_command_line_too(shell: Shell) -> None:
    data = written(shell, "d.csv", DATA)
    sums = "SELECT city, sum(n) AS n FROM data GROUP BY city ORDER BY city"
    ran = shell("transform", data, "--code", sums, "--language", "sql", "-q", "--format", "csv")
    assert (ran.status, ran.out) == (0, "city,n\nOslo,4\nRome,2\n"), ran.talk
    assert "say what the code is written in" in shell("transform", data, "--code", sums).talk
    assert "there is no file my code.sql" in shell("transform", data, "--code", "my code.sql").talk
    ran = shell("execute", "-c", "print(6 * 7)", "-q")
    assert (ran.status, ran.out) == (0, "42\n"), ran.talk
    assert "not both" in shell("execute", data, "-c", "1").talk
    assert "missing program" in shell("execute").talk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("py", "result = data.groupby('city', as_index=False)['n'].sum()"),
        ("py", "result = data[['city', 'n']]"),
        ("py", "result = data.sort_values('City')"),
        ("sql", "SELECT city, sum(n) AS n FROM data GROUP BY city"),
        ("R", "result <- data[order(data$city, data[, 'city']), ]"),
    ],
)
def test_bare_code_on_a_renamed_column_is_answered_with_the_columns_that_there_are(
    shell: Shell, ending: str, code: str
) -> None:
    data = written(shell, "renamed.csv", "id,town,n\n1,Bern,10\n2,Paris,20\n")
    ran = shell("transform", data, "again", "--code", written(shell, f"bare.{ending}", code), "-q")
    assert (ran.status, ran.out) == (1, "")
    assert "data has the columns id int, town string, n int" in ran.talk


@pytest.mark.slow
def test_a_job_asks_the_model_that_the_command_names(shell: Shell) -> None:
    data = written(shell, "d.csv", DATA)
    ran = shell("transform", data, "sum n by city", "--model", "cerebras/special", "--json")
    job = ran.json
    calls = shell("jobs", "llm-calls", job["id"], "--json").json["items"]
    assert {(call["requested"]["provider"], call["requested"]["model"]) for call in calls} == {("cerebras", "special")}
    refused = shell("transform", data, "sum n by city", "--model", "nosuch/model")
    assert refused.status != 0
    assert "nosuch/model" in refused.talk


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_that_calls_models_takes_the_option_and_no_other(shell: Shell, kind: KindSpec[Any]) -> None:
    shown = shell(*kind.command.split(), "--help")
    assert shown.status == 0, shown.talk
    assert ("--model" in shown.out) == bool(kind.roles)


@pytest.mark.slow
def test_rows_of_a_result_are_streamed_as_they_are(shell: Shell) -> None:
    long = "x" * 5_000
    rows = "".join(f"{number},{long if number == 7 else number}\n" for number in range(3_000))
    job = shell("transform", written(shell, "many.csv", f"n,text\n{rows}"), "--code", "result = data", "--language",
                "python", "--json").json  # fmt: skip
    status = shell("status", "-o", "json").json
    with Client(status["url"], status["api_key"]) as client:
        streamed = client.job(job["id"]).stream_rows()
        assert next(streamed) == {"n": 0, "text": "0"}
        rest = list(streamed)
        assert (len(rest), rest[6]["text"], rest[-1]["n"]) == (2_999, long, 2_999)
        none = shell("execute", "-c", "print(1)", "--json").json
        with pytest.raises(APIError, match="is not a table"):
            next(client.job(none["id"]).stream_rows())
