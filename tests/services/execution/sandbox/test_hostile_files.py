"""Files and tables that hostile code leaves behind or is given: refused, escaped, or read within bounds."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import KernelError, Run
from shared.contracts.execute import Limits, Verdict
from tests.services.execution.sandbox.attacks import (
    PRELUDE,
)
from tests.services.execution.sandbox.conftest import RunCode

_LONG = Limits(wall_seconds=150, cpu_seconds=120)


def test_17_many_names_of_one_file_leave_once(run_code: RunCode) -> None:
    outcome = run_code("import os\nopen('a', 'wb').write(bytes(10**6))\nfor n in range(100): os.link('a', f'b{n}')")
    assert [product.path for product in outcome.artifacts] == ["a"]
    assert any("second name" in refused for refused in outcome.refused)


def test_16_a_sparse_file_beyond_the_cap_is_refused_unread(run_code: RunCode) -> None:
    outcome = run_code("open('big', 'wb').truncate(60 * 10**6)")
    assert outcome.verdict is Verdict.OK
    assert outcome.artifacts == ()
    assert "50 MB" in outcome.refused[0]


def test_18_deep_folders_are_refused(run_code: RunCode) -> None:
    outcome = run_code("import os\nfor n in range(1000):\n    os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')")
    assert outcome.verdict is Verdict.OK
    assert outcome.artifacts == ()
    assert "deep" in outcome.refused[0]


def test_19_strange_names_are_escaped_and_hidden_ones_refused(run_code: RunCode) -> None:
    code = r"""
import os
for name in (b'a\nb', b'\xff', b'\x1b[31m', b'.secret'):
    os.close(os.open(name, os.O_CREAT))
"""
    outcome = run_code(code)
    assert sorted(product.path for product in outcome.artifacts) == ["\\x1b[31m", "\\xff", "a\\nb"]
    assert outcome.refused == (".secret: hidden files stay inside",)


def test_20_and_21_links_pipes_and_sockets_are_refused(run_code: RunCode) -> None:
    code = "import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/', 'root')\nos.mkfifo('pipe')"
    outcome = run_code(code)
    assert outcome.artifacts == ()
    assert {refused.split(":")[0] for refused in outcome.refused} == {"link", "pipe", "root"}


def test_21_sockets_and_devices_cannot_be_made_and_a_pipe_in_place_of_a_table_ends_nowhere(
    run_code: RunCode, sandbox: Sandbox
) -> None:
    # A device with the number 0:0 needs no right of the kernel's, and neither does a socket's node.
    code = (
        "import socket\nkinds = {'sock': 0o140600, 'char': 0o020600, 'block': 0o060600}\n"
        "denied = [tried(os.mknod, name, kind, 0) for name, kind in kinds.items()]\n"
        "left, right = socket.socketpair()\n"
        "bound = tried(left.bind, 'bound'); os.mkfifo('pipe')\ndenied"
    )
    outcome = run_code(PRELUDE + code)
    assert outcome.value is not None
    assert outcome.value.text == "['EPERM', 'EPERM', 'EPERM']"
    assert outcome.artifacts == ()
    assert {refused.split(":")[0] for refused in outcome.refused} <= {"pipe", "bound"}
    flood = (
        "import os, threading, pandas\nos.mkfifo('/out/endless')\n"
        "import services.execution.languages.python.guest.tables as tables\n"
        "tables.write(pandas.DataFrame({'a': [1]}), '/work/mine')\nos.symlink('/work/mine', '/out/link')\n"
        "def flood():\n    with open('/out/endless', 'wb') as pipe:\n        while True: pipe.write(bytes(65536))\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
        "import services.execution.languages.python.guest.values as values\n"
        "class Liar:\n    def __repr__(self):\n"
        "        values.exactly = lambda value: {'kind': 'table', 'type': 'x', 'text': '', 'file': claimed}\n"
        "        return 'x'\nliar = Liar()\n"
    )
    with sandbox.session("python", Limits(wall_seconds=60), {}) as session:
        session.execute(flood)
        for claimed in ("endless", "link", "/work/mine", "../work/mine", "/proc/1/environ", "a\0b", "\ud800"):
            session.execute(f"claimed = {claimed!r}")
            with pytest.raises(KernelError, match="BadTable"):
                session.get("liar")


def test_22_and_23_files_are_collected_when_nobody_can_swap_them(run_code: RunCode) -> None:
    code = (
        "import os\nos.mkdir('d'); open('d/f', 'w').write('mine')\n"
        "if os.fork() == 0:\n"
        "    while True:\n"
        "        os.rename('d', 'e'); os.symlink('/etc', 'd'); os.unlink('d'); os.rename('e', 'd')\n"
    )
    for product in run_code(code).artifacts:
        assert product.path in ("d/f", "e/f")
        assert product.size == 4


def test_24_a_table_that_does_not_hold_together_is_refused(sandbox: Sandbox) -> None:
    code = (
        "import atexit, pandas as pd\n"
        "atexit.register(lambda: open('/out/result.arrow', 'r+b').write(b'ARROW1\\0\\0' + b'\\xff' * 200))\n"
        "pd.DataFrame({'a': [1, 2, 3]})"
    )
    with sandbox.run(Run("python", code, take="table")) as outcome:
        assert outcome.verdict is Verdict.OK
        assert outcome.table is None
        assert "does not hold together" in outcome.refused[0]


_BOMBS = {
    "rows": "write(pa.table({'a': pa.Array.from_buffers(pa.null(), 2**40, [None])}))",
    "cells": "write(pa.table([pa.nulls(40 * 10**6)] * 9000, [str(n) for n in range(9000)]))",
    "squeezed": "zeros = [None, pa.py_buffer(bytes(10**8))]\n"
    "write(pa.table({'a': pa.Array.from_buffers(pa.binary(1000), 10**5, zeros)}), 20)",
    "shared": "write(pa.table({'a': pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, 'i4')), ['x' * 10**6])}))",
    "views": "view = (10**6).to_bytes(4, 'little') + b'xxxx' + bytes(8)\n"
    "buffers = [None, pa.py_buffer(view * 10**4), pa.py_buffer(b'x' * 10**6)]\n"
    "write(pa.table({'a': pa.Array.from_buffers(pa.string_view(), 10**4, buffers)}))",
    "lists": "write(pa.table({'a': pa.FixedSizeListArray.from_arrays(pa.nulls(2**31 - 2), 2**30 - 1)}))",
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", _BOMBS)
def test_24_a_small_file_that_holds_far_too_much_is_no_table(bomb: str, sandbox: Sandbox) -> None:
    code = (
        "import atexit, numpy as np, pandas as pd, pyarrow as pa, pyarrow.ipc\n"
        "options = pa.ipc.IpcWriteOptions(allow_64bit=True, compression='zstd')\n"
        "def write(table, times=1):\n"
        "    with pa.ipc.new_file('/work/bomb', table.schema, options=options) as writer:\n"
        "        for _ in range(times): writer.write_table(table)\n"
        f"{_BOMBS[bomb]}\n"
        "assert os.path.getsize('/work/bomb') < 5 * 10**6\n"
        "atexit.register(lambda: open('/out/result.arrow', 'wb').write(open('/work/bomb', 'rb').read()))\n"
        "pd.DataFrame({'a': [1]})"
    )
    with sandbox.run(Run("python", PRELUDE + code, take="table", limits=_LONG)) as outcome:
        assert outcome.verdict is Verdict.OK, outcome
        assert outcome.table is None
        assert "does not hold together" in outcome.refused[-1]


def test_24_every_kind_of_column_that_spells_out_small_is_a_table(sandbox: Sandbox) -> None:
    code = """
import pyarrow as pa
words = pa.array(['x', 'y', None])
pa.table({
    'category': words.dictionary_encode(), 'view': words.cast(pa.string_view()), 'none': pa.nulls(3),
    'runs': pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([7, 8])),
    'inner': pa.array([{'a': [1]}, None, {'a': None}]),
    'map': pa.array([[('k', 1)], [], None], pa.map_(pa.string(), pa.int8())),
    'money': pa.array([1, 2, 3]).cast(pa.decimal128(22, 2)), 'pair': pa.array([[1, 2]] * 3, pa.list_(pa.int8(), 2)),
    'id': pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 3, pa.binary(16))),
    'spread': pa.array([[1], [2], None], pa.list_view(pa.int64())),
    'bytes': pa.array([b'1', b'2', None], pa.binary_view()),
})"""
    with sandbox.run(Run("python", code, take="table")) as outcome:
        assert outcome.table is not None, outcome
        with pyarrow.memory_map(str(outcome.table)) as opened:
            assert pyarrow.ipc.open_file(opened).read_all().num_rows == 3


def _varint(number: int) -> bytes:
    """As Thrift's compact protocol spells a whole number that is not negative."""
    number, parts = 2 * number, []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def _parquet_claiming(rows: int, path: Path) -> None:
    true_rows = 77_777
    pyarrow.parquet.write_table(pyarrow.table({"a": pyarrow.array([1] * true_rows)}), path)
    whole = path.read_bytes()
    size = int.from_bytes(whole[-8:-4], "little")
    footer = whole[-8 - size : -8].replace(_varint(true_rows), _varint(rows))
    assert len(footer) > size
    path.write_bytes(whole[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.slow(seconds=4)
def test_24_bombs_as_input_go_off_in_the_room(sandbox: Sandbox, tmp_path: Path) -> None:
    _parquet_claiming(2**40, tmp_path / "claims.parquet")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(300 * 10**6))
    files = {name: tmp_path / name for name in ("claims.parquet", "bomb.zip")}
    programs = {
        "import pyarrow.parquet as p; assert p.read_metadata('claims.parquet').num_rows == 2**40": {Verdict.OK},
        "import pandas; pandas.read_parquet('claims.parquet')": {Verdict.MEMORY, Verdict.USER_ERROR},
        "SELECT sum(a) FROM read_parquet('claims.parquet')": {Verdict.MEMORY, Verdict.USER_ERROR},
        "import zipfile; zipfile.ZipFile('bomb.zip').extractall()": {Verdict.DISK},
        "import zipfile; zipfile.ZipFile('bomb.zip').read('zeros')": {Verdict.MEMORY},
    }
    limits = Limits(memory_mb=200, disk_mb=100, wall_seconds=100, cpu_seconds=100)
    for code, verdicts in programs.items():
        language: str = "sql" if code.startswith("SELECT") else "python"
        with sandbox.run(Run(language, code, files=files, limits=limits)) as outcome:
            assert outcome.verdict in verdicts, (code, outcome)


def test_25_nothing_is_unpickled_here(sandbox: Sandbox, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    code = (
        f"class Evil:\n    def __reduce__(self): return (open, ({str(canary)!r}, 'w'))\n"
        "    def __repr__(self): return 'evil'\nresult = Evil()\nresult"
    )
    with sandbox.run(Run("python", code, take="table")) as outcome:
        assert outcome.value is not None
        assert outcome.value.text == "evil"
    assert not canary.exists()
