"""A desk for each test, on one real sandbox for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.execution.documents.resolve.renderer import Renderer
from services.execution.sandbox.host.sandbox import WarmSandbox
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from tests.services.execution.documents.support import Desk


@pytest.fixture(scope="session")
def sandbox() -> Iterator[WarmSandbox]:
    with open_sandbox(SandboxSettings(slots=1)) as opened:
        yield opened


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


@pytest.fixture
def desk(sandbox: WarmSandbox, renderer: Renderer) -> Desk:
    return Desk(sandbox, renderer)
