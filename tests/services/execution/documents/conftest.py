"""Document jobs of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.execution.documents.resolve.renderer import Renderer
from services.execution.sandbox.host.sandbox import Sandbox
from tests.services.execution.documents.support import DocumentJobs


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    with Renderer() as made:
        yield made


@pytest.fixture
def jobs(sandbox: Sandbox, renderer: Renderer) -> DocumentJobs:
    return DocumentJobs(sandbox, renderer)
