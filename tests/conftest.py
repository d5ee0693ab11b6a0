"""Real servers for every test that needs them, and the order in which parallel runs take the modules."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.keeper import Keeper
from tests.support.scopes import arrange, scope_of

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

#: As in the Makefile: hundreds of processes should not compile the same modules hundreds of times.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # until everything is collected: imports make millions of objects, and hardly any of them is garbage

pytest_plugins = ["tests.support.servers", "tests.support.scripted"]


@pytest.fixture(scope="session", autouse=True)
def _state_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests start out of the list of installations and the profiles of the user who runs them."""
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


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failed test at once, so that a run that is ended from outside has named it."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        sys.__stdout__.write(f" {report.nodeid} failed ")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    arrange(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Distribute scopes, as ``--dist loadscope`` does, which are modules or lanes of them."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - not there where one worker runs all

    config.option.loadscopereorder = False
    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = scope_of
    return scheduling


def pytest_collection_finish() -> None:
    """Collect garbage from now on, of what tests make alone."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let what was imported be garbage at the end of the process, where libraries look for what leaks."""
    gc.unfreeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``-n auto`` two more than there are cores: many tests wait for processes."""
    return len(os.sched_getaffinity(0)) + 2
