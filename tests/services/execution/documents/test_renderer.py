"""The process whose forks render: one for each message, none left behind, and another when it is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services.execution.documents.llm.messages import render
from services.execution.documents.resolve.renderer import NotRendered, Renderer
from tests.support.wait import until


@pytest.fixture
def own() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


def said(renderer: Renderer, text: str, value: int = 4) -> str:
    return render(renderer, text, lambda _names, _whole: {"x": {"kind": "json", "json": value}}).text


def alive(parent: int) -> set[int]:
    """The processes of a parent that have not ended, those that render only."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(above) == parent and state != "Z" and b"resolve.rendering" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def ended(pid: int) -> bool:
    """Return whether the process has ended or is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def started(renderer: Renderer) -> int:
    """The process of a renderer that has none yet."""
    before = alive(os.getpid())
    renderer.warm()
    eventually(lambda: len(alive(os.getpid()) - before) == 1)
    return (alive(os.getpid()) - before).pop()


def eventually(holds: Callable[[], bool]) -> None:
    until(holds, "the processes are as expected", 60)


@pytest.mark.slow(seconds=2)
def test_no_fork_outlives_its_message(own: Renderer) -> None:
    process = started(own)
    endless = "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}{{ x }}"
    for text in ("{{ x", endless):
        with pytest.raises(NotRendered):
            said(own, text)
    assert said(own, "{{ x }}") == "4"
    eventually(lambda: len(alive(process)) == 1)
    spare = alive(process)
    own.close()
    assert process not in alive(os.getpid())
    eventually(lambda: all(map(ended, spare)))


@pytest.mark.slow
def test_many_render_at_once_and_each_has_its_own(own: Renderer) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: said(own, "{{ x }}", number), range(40))) == [str(n) for n in range(40)]


def test_when_it_is_gone_another_takes_its_place(own: Renderer) -> None:
    process = started(own)
    assert said(own, "{{ x }}") == "4"
    os.kill(process, signal.SIGKILL)
    eventually(lambda: process not in alive(os.getpid()))
    assert said(own, "{{ x + 1 }}") == "5"


def test_it_starts_once_and_again_when_it_was_closed(own: Renderer) -> None:
    before = alive(os.getpid())
    process = started(own)
    own.warm()
    assert alive(os.getpid()) == {*before, process}
    own.close()
    assert alive(os.getpid()) == before
    assert said(own, "{{ x }}") == "4"
