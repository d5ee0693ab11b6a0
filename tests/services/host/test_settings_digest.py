"""What an installation was started with is kept as digests and compared by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.host.folder import InstallationFolder
from services.host.installation import HostSettings
from services.host.settings_digest import differences, digests

OURS = {
    "GROQ_API_KEY": "one",
    "ASSAY_PORT": "8000",
    "ASSAY_HOME": "x",
    "ASSAY_API_KEY": "k",
    "PATH": "/bin",
    "TZ": "UTC",
}


def test_digests_are_of_settings_only_and_tell_nothing_of_their_values(tmp_path: Path) -> None:
    kept = digests(InstallationFolder(tmp_path), OURS, None)
    assert set(kept) == {"GROQ_API_KEY", "ASSAY_PORT"}
    assert kept["GROQ_API_KEY"] != digests(InstallationFolder(tmp_path / "other"), OURS, None)["GROQ_API_KEY"]


def test_differences_are_named_and_equal_settings_are_not(tmp_path: Path) -> None:
    folder = InstallationFolder(tmp_path)
    started = digests(folder, OURS, None)
    assert differences(started, digests(folder, {**OURS, "PATH": "/usr/bin", "TZ": ""}, None)) == ""
    assert differences(None, started) == ""
    changed = {"GROQ_API_KEY": "two", "DATABASE_URL": "postgresql://h/d", "ASSAY_HOME": "y"}
    told = differences(started, digests(folder, changed, tmp_path / "demo.json"))
    listed = "--demo or --script is new, DATABASE_URL is new, GROQ_API_KEY is different, ASSAY_PORT is not set here"
    assert listed in told
    assert "two" not in told


def test_an_empty_variable_names_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", "")
    assert HostSettings().home == Path(".assay")
