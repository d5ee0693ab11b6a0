"""Who waits for news: woken by one look for all, whether a notification came or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager

from services.gateway.notifications import Progress, Watchers
from shared.errors import DatabaseUnavailable

#: Nothing listens there, so that no notification comes.
_NO_REDIS = "redis://127.0.0.1:1/0"


class Record:
    """What Postgres would say, and who queried it."""

    def __init__(self, **jobs: Progress) -> None:
        self.jobs: dict[str, Progress] = jobs
        self.asked: list[Sequence[str]] = []
        self.away = False
        self.looked = asyncio.Event()

    async def look_at(self, known: Mapping[str, int | None]) -> Mapping[str, Progress]:
        self.asked.append(sorted(known))
        self.looked.set()
        if self.away:
            raise DatabaseUnavailable("away")
        now = {id: self.jobs.get(id, Progress(None, ended=True)) for id in known}
        return {id: progress for id, progress in now.items() if progress.last_seq != known[id]}


@asynccontextmanager
async def watching(record: Record, flows: Record | None = None) -> AsyncIterator[Watchers]:
    watchers = Watchers(_NO_REDIS, record.look_at, (flows or Record()).look_at)
    watchers.start()
    try:
        yield watchers
    finally:
        await watchers.stop()


def test_a_lost_notification_is_found_by_one_look_for_everybody() -> None:
    async def check() -> None:
        record = Record(a=Progress(1, ended=False), b=Progress(1, ended=False))
        flows = Record(flow=Progress(1, ended=False))
        async with watching(record, flows) as watchers:
            with ExitStack() as stack:
                mine = [stack.enter_context(watchers.watch(id)) for id in ["a"] * 50 + ["b"] * 50]
                end = stack.enter_context(watchers.watch("a", end_only=True))
                stack.enter_context(watchers.watch("else", of=None))
                assert all([await watchers.wait(watch, 30) for watch in mine])  # the first look knows nothing before it
                record.jobs["a"] = Progress(2, ended=False)
                assert all([await watchers.wait(watch, 30) for watch in mine[:50]])
                assert not end.changed.is_set()
                assert not mine[50].changed.is_set()
                record.jobs["a"] = Progress(3, ended=True)
                assert await watchers.wait(end, 30)
                assert all(ids == ["a", "b"] for ids in record.asked)
            asked = len(record.asked)
            with watchers.watch("flow", of="flow"):
                for _ in range(2):
                    flows.looked.clear()
                    await asyncio.wait_for(flows.looked.wait(), 30)
            assert len(record.asked) <= asked + 1, "nobody watches a job, so nobody looks for one"

    asyncio.run(check())


def test_a_job_that_is_no_more_wakes_and_so_does_a_record_that_is_back() -> None:
    async def check() -> None:
        record = Record(a=Progress(1, ended=False))
        async with watching(record) as watchers:
            with watchers.watch("a") as watch, watchers.watch("a", end_only=True) as end:
                assert await watchers.wait(watch, 30)
                record.away = True
                record.looked.clear()
                await asyncio.wait_for(record.looked.wait(), 30)
                assert not watch.changed.is_set()
                del record.jobs["a"]
                record.away = False
                assert await watchers.wait(watch, 30)
                assert await watchers.wait(end, 30)

    asyncio.run(check())


def test_those_who_were_woken_together_share_what_they_look_for() -> None:
    async def check() -> None:
        record = Record(a=Progress(1, ended=False))
        async with watching(record) as watchers:
            with watchers.watch("a") as first, watchers.watch("a") as second:
                for watch in (first, second):
                    assert await watchers.wait(watch, 30)
                before = first.woken
                assert before == second.woken > 0
                record.jobs["a"] = Progress(2, ended=False)
                assert await watchers.wait(first, 30)
                assert first.woken > before, "a look that began before this may have missed the news"

    asyncio.run(check())


def test_flows_are_looked_at_for_everybody_too() -> None:
    async def check() -> None:
        flows = Record(f=Progress(1, ended=False))
        async with watching(Record(), flows) as watchers:
            with ExitStack() as stack:
                mine = [stack.enter_context(watchers.watch("f", of="flow")) for _ in range(50)]
                assert all([await watchers.wait(watch, 30) for watch in mine])
                flows.jobs["f"] = Progress(2, ended=False)
                assert all([await watchers.wait(watch, 30) for watch in mine])
                del flows.jobs["f"]
                assert all([await watchers.wait(watch, 30) for watch in mine])
                assert all(ids == ["f"] for ids in flows.asked if ids)

    asyncio.run(check())
