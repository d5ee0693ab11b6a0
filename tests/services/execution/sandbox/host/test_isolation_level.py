"""The tier that is reported is the one that was probed; a claim is reported as one; too weak a tier is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from services.execution.sandbox.host.isolation_level import isolation
from services.execution.sandbox.protocol.gvisor import runs_on_gvisor
from services.execution.sandbox.run import Isolation
from services.execution.sandbox.settings import SandboxSettings
from services.execution.wiring import open_sandbox
from shared.errors import SandboxUnavailable

_PROBE = "from services.execution.sandbox.protocol.gvisor import runs_on_gvisor; print(runs_on_gvisor())"


def test_what_is_claimed_is_never_told_as_verified() -> None:
    assert isolation(SandboxSettings()) == Isolation("ns")
    assert isolation(SandboxSettings(claimed_tier="microvm")) == Isolation("ns", claimed="microvm")


@pytest.mark.parametrize("minimum", ["gvisor", "microvm"])
def test_a_tier_below_the_minimum_is_refused(minimum: str) -> None:
    with pytest.raises(SandboxUnavailable, match=f"by ns here; {minimum} is required"):
        open_sandbox(SandboxSettings.model_validate({"minimum": minimum}))


@pytest.mark.parametrize("name", ["ASSAY_SANDBOX_MINIMUM", "ASSAY_SANDBOX_MIN_TIER"])
def test_the_minimum_is_set_by_its_name_and_by_its_earlier_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "microvm")
    assert SandboxSettings().minimum == "microvm"


def test_an_operator_who_claims_a_virtual_machine_may_demand_one() -> None:
    settings = SandboxSettings(minimum="microvm", claimed_tier="microvm")
    assert isolation(settings) == Isolation("ns", claimed="microvm")


def test_linux_is_not_taken_for_gvisor() -> None:
    assert not runs_on_gvisor()


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("runsc") is None, reason="gVisor's runsc is not installed; scripts/install-optional does"
)
@pytest.mark.skipif(os.geteuid() != 0, reason="this version of runsc needs root")
def test_gvisor_is_recognised_from_inside() -> None:
    # Its root is the machine's, read-only beneath a layer of its own.
    command = ["runsc", "--network=none", "do", "--cwd", str(Path.cwd()), sys.executable, "-c", _PROBE]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stdout.strip() == "True", answer.stderr
