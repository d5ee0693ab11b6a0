"""A misspelled setting is reported with the setting that was meant; what is set for other programs is not."""

from __future__ import annotations

import pytest

from shared.setting_names import SETTING_NAMES
from shared.unknown_settings import unknown_settings


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("ASSAY_PROT", "ASSAY_PORT"),
        ("ASSAY_LEASE_SECOND", "ASSAY_LEASE_SECONDS"),
        ("ASSAY_API_KYE", "ASSAY_API_KEY"),
        ("ASSAY_port", "ASSAY_PORT"),
        ("ASSAY_SANDBOX_SLOT", "ASSAY_SANDBOX_SLOTS"),
        ("ASSAY_HOM", "ASSAY_HOME"),
        ("ASSAY_LEASE", "ASSAY_LEASE_SECONDS"),
    ],
)
def test_a_misspelled_setting_names_the_one_that_was_meant(variable: str, meant: str) -> None:
    (warning,) = unknown_settings([variable])
    assert warning == f"{variable} is not a setting of Assay and has no effect; did you mean {meant}?"


def test_a_setting_that_is_like_no_other_is_reported_with_the_list() -> None:
    (warning,) = unknown_settings(["ASSAY_QQQQ"])
    assert warning.endswith("docs/settings.md lists the settings.")


def test_what_is_read_somewhere_is_not_reported() -> None:
    others = ["PATH", "HOME", "WORK_ASSAY_KEY", "ASSAY_URL", "ASSAY_API_KEY_FILE", "ASSAY_DATABASE_PASSWORD_FLOWS_FILE"]
    assert list(unknown_settings([*SETTING_NAMES, *others])) == []
