"""A code interpreter by the clients, against a running installation."""

from __future__ import annotations

import anyio
import pytest

from assay import AsyncClient, AsyncInterpreter, Client, Interpreter, result_text
from shared.contracts.execute import ExecuteResult
from tests.assay.server import RESULT
from tests.assay.terminal import Shell


@pytest.mark.slow(seconds=2)
def test_calls_see_what_those_before_have_left(shell: Shell) -> None:
    status = shell("status", "-o", "json").json
    with Client(status["url"], status["api_key"]) as client:
        interpreter = Interpreter(client, limits={"wall_seconds": 5})
        assert result_text(interpreter.run("n = open('a.txt').read()", files={"a.txt": b"42"})) == "(no output)"
        assert "ZeroDivisionError" in result_text(interpreter.run("1 / 0"))
        assert result_text(interpreter.run("print('n is'); n")) == "n is\n'42'"
        assert "WallTimeLimit" in result_text(Interpreter(client, limits={"wall_seconds": 0.2}).run("while True: pass"))

    async def main() -> None:
        async with AsyncClient(status["url"], status["api_key"]) as client:
            interpreter = AsyncInterpreter(client, "sql")
            await interpreter.run("create table t as select 42 as n")
            assert "42" in result_text(await interpreter.run("select n from t"))

    anyio.run(main)


def test_a_result_is_read_with_its_files() -> None:
    result = ExecuteResult.model_validate(
        {
            **RESULT,
            "displays": [{"media_type": "image/png", "file_id": "f1"}],
            "artifacts": [{"path": "out.csv", "file_id": "f2", "size": 3}],
        }
    )
    assert result_text(result) == "42\n[file out.csv, 3 bytes: f2]\n[image/png: f1]"
