"""Real servers for every test that asks for one, and the order in which parallel runs take the modules."""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.keeper import Keeper

#: As in the Makefile: hundreds of processes should not compile the same modules hundreds of times.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

pytest_plugins = ["tests.support.servers", "tests.support.scripted"]


@pytest.fixture(scope="session", autouse=True)
def _state_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests start stays out of the list of installations of whoever runs them, and of their profiles."""
    os.environ["ASSAY_CONFIG"] = str(tmp_path_factory.mktemp("profiles") / "config.toml")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


#: Every run tries the same examples, so that a failure comes from a change; HYPOTHESIS=random generates more, new ones.
#: No profile has a deadline or a health check of time: a busy machine must not fail a test.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("repeatable", _UNTIMED, max_examples=50, derandomize=True, database=None)
settings.register_profile("random", _UNTIMED, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start be interrupted: a shell with the tests in the background makes all ignore interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # workers inherit the folder of the run
        config.add_cleanup(Keeper().stop)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the modules that take longest first: one of them at the end would keep a single worker busy."""
    seconds: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        slow = item.get_closest_marker("slow")
        seconds[item.path] += slow.kwargs.get("seconds", 0.5) if slow else 0.02
    items.sort(key=lambda item: -seconds[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``-n auto`` one more than there are cores: many tests wait for processes."""
    return len(os.sched_getaffinity(0)) + 1
