"""A desk for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.execution.documents.resolve.renderer import Renderer
from services.execution.sandbox.host.sandbox import WarmSandbox
from tests.services.execution.documents.support import Desk


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


@pytest.fixture
def desk(sandbox: WarmSandbox, renderer: Renderer) -> Desk:
    return Desk(sandbox, renderer)
