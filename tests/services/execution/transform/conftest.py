"""Transform jobs of its own for each test."""

from __future__ import annotations

import pytest

from services.execution.sandbox.host.sandbox import Sandbox
from tests.services.execution.transform.support import TransformJobs


@pytest.fixture
def jobs(sandbox: Sandbox) -> TransformJobs:
    return TransformJobs(sandbox)
