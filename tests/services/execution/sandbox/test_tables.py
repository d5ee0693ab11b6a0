"""Tables that go in and out as open files: nothing is copied, and no one can write through them."""

from __future__ import annotations

from pathlib import Path

import pandas
import pyarrow
import pyarrow.ipc
import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Frame, Run
from shared.contracts.execute import Limits, Verdict

_SOURCE = {
    "whole": range(1000),
    "real": [number / 7 for number in range(1000)],
    "text": ["a", "ä"] * 500,
    "moment": pandas.date_range("2020", periods=1000),
    "zone": pandas.date_range("2020", periods=1000, tz="UTC"),
    "flag": [True, False] * 500,
    "kind": pandas.Categorical(["x", "y"] * 500),
    "gaps": [1, None] * 500,
    "lists": [[1]] * 1000,
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return _written(pyarrow.Table.from_pandas(pandas.DataFrame(_SOURCE)), tmp_path / "in.arrow")


def _written(table: pyarrow.Table, path: Path) -> Path:
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=400)
    return path


def test_a_given_frame_can_be_written_to_in_every_column_and_its_file_stays_as_it_was(
    sandbox: Sandbox, file: Path
) -> None:
    code = """
import pandas as pd
for name, value in {"whole": 5, "real": 2.5, "text": "q", "moment": pd.Timestamp("2021"), "flag": False,
                    "zone": pd.Timestamp("2021", tz="UTC"), "kind": "y", "gaps": 3.0}.items():
    data.loc[1, name] = value
data.iloc[2, 0] = 9
list(data.iloc[1, :8].astype(str))
"""
    before = file.read_bytes()
    with sandbox.run(Run("python", code, frames={"data": Frame(file)})) as outcome:
        assert outcome.verdict is Verdict.OK, outcome.error
        assert outcome.value is not None
        stamps = "'2021-01-01 00:00:00', '2021-01-01 00:00:00+00:00'"
        assert outcome.value.text == f"['5', '2.5', 'q', {stamps}, 'False', 'y', '3.0']"
    assert file.read_bytes() == before


@pytest.mark.parametrize(("language", "code"), [("python", "data"), ("sql", "SELECT * FROM data")])
def test_a_table_comes_back_as_it_went_in(sandbox: Sandbox, file: Path, language: str, code: str) -> None:
    with sandbox.run(Run(language, code, frames={"data": Frame(file)}, take="table")) as outcome:
        assert outcome.table is not None, outcome
        with pyarrow.memory_map(str(outcome.table)) as source:
            table = pyarrow.ipc.open_file(source).read_all()
    wanted = pandas.DataFrame(_SOURCE).drop(columns="kind")
    pandas.testing.assert_frame_equal(table.drop(["kind"]).to_pandas(), wanted, check_dtype=False)


@pytest.mark.parametrize("table", [pyarrow.table({}), pyarrow.table({"a": pyarrow.array([], "int64")})])
def test_an_empty_table_goes_in_and_out(sandbox: Sandbox, tmp_path: Path, table: pyarrow.Table) -> None:
    frames = {"data": Frame(_written(table, tmp_path / "empty.arrow"))}
    with sandbox.run(Run("python", "data", frames=frames, take="table")) as outcome:
        assert outcome.table is not None, outcome


def test_the_code_has_no_descriptor_of_the_file_that_it_was_given(sandbox: Sandbox, file: Path) -> None:
    code = "import os\nsorted(int(name) for name in os.listdir('/proc/self/fd'))"
    shown = []
    for frames in ({}, {"data": Frame(file)}, {"data": Frame(file, "polars")}):
        with sandbox.run(Run("python", code, frames=frames)) as outcome:
            assert outcome.value is not None
            shown.append(outcome.value.text)
    assert shown == ["[0, 1, 2, 3, 4, 5]"] * 3  # 5 is the listing's own


def test_the_mapped_file_cannot_be_made_writable_or_opened_again(sandbox: Sandbox, file: Path) -> None:
    code = """
import os
kept = []
for line in open('/proc/self/maps'):
    bounds, access, _, _, inode, *rest = line.split()
    if inode != '0' and not rest[0].startswith(('/usr', '/runtime', '/lib')):
        kept.append(access[3])
        for path in (f'/proc/self/map_files/{bounds}', rest[-1]):
            try:
                os.open(path, os.O_RDWR)
                print('opened', path)
            except OSError:
                pass
kept
"""
    with sandbox.run(Run("python", code, frames={"data": Frame(file)})) as outcome:
        assert outcome.stdout == ""
        assert outcome.value is not None
        assert set(outcome.value.text) == set("[]'p") | set(", " if "," in outcome.value.text else "")  # never shared


@pytest.mark.parametrize("rows", [3, 1_000_000], ids=["copied out", "taken from a dead sandbox"])
def test_with_the_answer_a_table_is_here_whatever_the_code_does_after_it(sandbox: Sandbox, rows: int) -> None:
    code = f"""
import atexit, os, time
import pandas as pd
atexit.register(time.sleep, 600)
if os.fork() == 0:
    time.sleep(600)
pd.DataFrame({{"a": range({rows})}})
"""
    run = Run("python", code, take="table", collect=False, until="table")
    with sandbox.run(run) as outcome:
        assert outcome.verdict is Verdict.OK, outcome.error
        assert outcome.table is not None
        with pyarrow.memory_map(str(outcome.table)) as source:
            assert pyarrow.ipc.open_file(source).read_all().column("a").to_pylist() == list(range(rows))


@pytest.mark.parametrize("language", ["python", "sql", "r"])
def test_every_language_hands_its_table_over_with_the_answer(sandbox: Sandbox, language: str) -> None:
    if sandbox.languages().get(language) is None:
        pytest.skip(f"{language} is not installed")
    code = {
        "python": "import pandas as pd\nprint('said')\npd.DataFrame({'a': [1, 2]})",
        "sql": "SELECT unnest([1, 2]) AS a",
        "r": "cat('said\\n')\ndata.frame(a = c(1L, 2L))",
    }[language]
    with sandbox.run(Run(language, code, take="table", collect=False, until="table")) as outcome:
        assert outcome.verdict is Verdict.OK, outcome.error
        assert outcome.table is not None
        assert outcome.stdout == ("" if language == "sql" else "said\n")
        with pyarrow.memory_map(str(outcome.table)) as source:
            assert pyarrow.ipc.open_file(source).read_all().to_pydict() == {"a": [1, 2]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "verdict", "kind"),
    [
        ("open('large', 'wb').write(bytes(40 << 20))", Verdict.DISK, None),
        ("1 / 0", Verdict.USER_ERROR, None),
        ("import sys; sys.exit(3)", Verdict.USER_ERROR, None),
        ("while True: pass", Verdict.TIMEOUT_WALL, None),
        ("41 + 1", Verdict.OK, "int"),
    ],
)
def test_any_other_answer_waits_for_what_the_end_tells(
    sandbox: Sandbox, code: str, verdict: Verdict, kind: str | None
) -> None:
    limits = Limits(disk_mb=16, wall_seconds=1 if "while" in code else 60)
    with sandbox.run(Run("python", code, take="table", collect=False, until="table", limits=limits)) as outcome:
        assert (outcome.verdict, outcome.table, outcome.result_class) == (verdict, None, kind)


@pytest.mark.parametrize("name", ["nothing.arrow", "../etc/passwd", "a" * 300, "\\ud800"])
def test_a_forged_answer_that_names_no_table_of_its_sandbox_gives_none(sandbox: Sandbox, name: str) -> None:
    code = f"""
import gc
from services.execution.sandbox.guest.service import Replies
replies = next(one for one in gc.get_objects() if isinstance(one, Replies))
replies.send({{"t": "result", "error": None, "table": "{name}"}})
"""
    with sandbox.run(Run("python", code, take="table", collect=False, until="table")) as outcome:
        # Rejected when the kernel's own answer, which is a second one, comes before that table is found missing.
        assert outcome.verdict in (Verdict.OK, Verdict.REJECTED), outcome.error
        assert outcome.table is None
