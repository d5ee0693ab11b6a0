"""Python code that awaits at its top, as IPython runs it."""

from __future__ import annotations

import pytest

from services.execution.languages.table import names_of
from shared.loop import Budget
from tests.services.execution.documents.support import DocumentJobs, block, codes, python
from tests.services.execution.documents.test_notebooks import code, notebook

NUMBERS = """\
import asyncio
async def numbers():
    for n in range(3):
        await asyncio.sleep(0)
        yield n
"""
MANAGER = """\
import contextlib
@contextlib.asynccontextmanager
async def opened():
    print("in")
    yield 7
    print("out")
"""


@pytest.mark.parametrize(
    ("source", "printed", "value"),
    [
        ("import asyncio\nawait asyncio.sleep(0, 5)", "", "5"),
        ("import asyncio\nx = await asyncio.sleep(0, 5)\nprint(x)", "5\n", None),
        (f"{NUMBERS}async for n in numbers():\n    print(n)", "0\n1\n2\n", None),
        (f"{NUMBERS}[n async for n in numbers()]", "", "[0, 1, 2]"),
        (f"{MANAGER}async with opened() as held:\n    print(held)", "in\n7\nout\n", None),
        ("import asyncio\nasync def f():\n    return 3\nasyncio.run(f())", "", "3"),
        ("import asyncio\nasync def f():\n    return 3\n(await asyncio.gather(f(), f()))[1]", "", "3"),
        ("import asyncio\nasync with asyncio.timeout(5):\n    print(await asyncio.sleep(0, 3))", "3\n", None),
        ("import asyncio\nfor n in range(2):\n    print(await asyncio.sleep(0, n))", "0\n1\n", None),
        ("import asyncio\nif True:\n    v = await asyncio.to_thread(lambda: 4)\nv", "", "4"),
        ("import asyncio\nawait asyncio.sleep(0, 5);", "", None),
    ],
)
def test_a_chunk_awaits_at_its_top(jobs: DocumentJobs, source: str, printed: str, value: str | None) -> None:
    one = jobs.run(python(source)).blocks[0]
    assert (one.status, one.messages) == ("ok", [])
    shown = [each.text for each in one.outputs]
    assert shown == [*([printed] if printed else []), *([value] if value else [])]


def test_names_loops_and_tasks_last_from_cell_to_cell(jobs: DocumentJobs) -> None:
    text = notebook(
        code("import asyncio\nlock = asyncio.Lock()\nasync with lock:\n    x = await asyncio.sleep(0, 1)"),
        code("async def f():\n    async with lock:\n        await asyncio.sleep(0.01)\n        return x + 1"),
        code("task = asyncio.create_task(f())"),
        code("await task"),
        code("asyncio.run(asyncio.sleep(0, 8))"),
        code("await f()"),
    )
    result = jobs.run(text)
    assert [one.status for one in result.blocks] == ["ok"] * 6
    assert [[each.text for each in one.outputs] for one in result.blocks][3:] == [["2"], ["8"], ["2"]]


@pytest.mark.parametrize("magic", ["%autoawait asyncio\n", "%autoawait\n", "%%time\n", "%time "])
def test_magics_before_an_await_do_not_stop_it(jobs: DocumentJobs, magic: str) -> None:
    result = jobs.run(notebook(code("import asyncio"), code(f"{magic}await asyncio.sleep(0, 5)")))
    assert ([each.text for each in result.blocks[1].outputs], result.warnings) == (["5"], [])


def test_an_expression_in_the_text_awaits(jobs: DocumentJobs) -> None:
    text = python("async def f():\n    return 6") + "\nIt is `await f()`{python exec}.\n"
    result = jobs.run(text)
    assert [each.text for each in result.blocks[-1].outputs] == ["6"]


def test_an_error_in_what_is_awaited_is_the_chunks(jobs: DocumentJobs) -> None:
    result = jobs.run(python("async def f():\n    return 1 / 0\nawait f()") + python("2"))
    assert codes(result.blocks[0]) == ["code_failed"]
    assert result.blocks[0].messages[0].text == "ZeroDivisionError: division by zero"
    assert [each.text for each in result.blocks[1].outputs] == ["2"]


def test_a_cell_that_never_finishes_is_ended(jobs: DocumentJobs) -> None:
    text = python("import asyncio\nawait asyncio.Event().wait()") + python("2")
    result = jobs.run(text, budget=Budget(seconds=4))
    assert result.blocks[0].status == "error"
    assert codes(result.blocks[0])[0] == "timeout_wall"


def test_await_in_a_function_that_is_not_async_is_refused(jobs: DocumentJobs) -> None:
    one = jobs.run(python("def f():\n    await g()")).blocks[0]
    assert (one.status, one.messages[0].text.startswith("SyntaxError")) == ("error", True)


def test_chunks_that_await_are_fresh_until_what_they_read_changes(jobs: DocumentJobs) -> None:
    text = (
        python("import asyncio\nn = 2")
        + python("async def f():\n    return n * 10")
        + python("y = await f()")
        + python("other = await asyncio.sleep(0, 1)")
        + python("y")
    )
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text, previous_job_id="one")
    assert [one.status for one in again.blocks] == ["fresh"] * 5
    changed = jobs.run(text.replace("n = 2", "n = 3"), previous_job_id="one")
    assert [one.status for one in changed.blocks] == ["ok", "ok", "ok", "fresh", "ok"]
    assert [each.text for each in changed.blocks[-1].outputs] == ["30"]


def test_what_a_task_changes_in_a_later_chunk_is_not_kept(jobs: DocumentJobs) -> None:
    text = (
        python("import asyncio\nitems = []\nasync def fill():\n    await asyncio.sleep(0)\n    items.append(1)")
        + python("task = asyncio.create_task(fill())")
        + python("await asyncio.sleep(0.05)")
        + python("print(items)")
    )
    first = jobs.run(text)
    assert [each.text for each in first.blocks[-1].outputs] == ["[1]\n"]
    jobs.keep("one", first)
    again = jobs.run(text.replace("append(1)", "append(2)"), previous_job_id="one")
    assert [each.text for each in again.blocks[-1].outputs] == ["[2]\n"]
    assert block(again, "chunk-4").status == "ok"


def test_what_an_awaited_method_is_called_on_counts_as_changed() -> None:
    assert "queue" in names_of("python", "await queue.put(1)").sets
