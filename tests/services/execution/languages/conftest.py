"""One kernel of each language for all tests of this folder; a test that ends one requests a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.host.session import Session
from shared.contracts.execute import Limits

_LIMITS = Limits(wall_seconds=100, cpu_seconds=100)  #: nothing here is meant to hit them
Open: TypeAlias = Callable[[str], Session]


@pytest.fixture(scope="session")
def kernel(sandbox: Sandbox) -> Iterator[Open]:
    """The living kernel of a language, or a new one when the last has ended."""
    with ExitStack() as stack:
        known: dict[str, Session] = {}

        def opened(language: str) -> Session:
            if not sandbox.languages()[language]:
                pytest.skip(f"{language} is not installed")
            if language not in known or not known[language].alive:
                known[language] = stack.enter_context(sandbox.session(language, _LIMITS, {}))
            return known[language]

        yield opened
