"""Every process is replaced by a new one under load: no request fails, and no job begins twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history
from tests.support.serving import Serving, clients

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.chaos, pytest.mark.timeout(300)]


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores, lease_seconds=30, grace_seconds=20)
    yield started
    started.stop()


def test_processes_are_replaced_one_by_one(platform: Platform) -> None:
    workers = [platform.ready_worker(), platform.worker()]
    reconciler = platform.reconciler()
    serving = Serving()
    serving.add(platform.gateway)
    serving.add(platform.gateway)
    with clients(platform, serving) as at_work:
        for _ in range(2):
            serving.replace_oldest(platform.gateway)
        for old in workers:
            platform.ready_worker()
            old.send_signal(signal.SIGTERM)
            assert old.wait(30) == 0
        platform.reconciler()
        reconciler.send_signal(signal.SIGTERM)
        assert reconciler.wait(30) == 0
        at_work.go_on()
    platform.wait_all(at_work.ids)
    check_history(platform, at_work.ids)
    assert {platform.job(id)["attempt"] for id in at_work.ids} == {1}
