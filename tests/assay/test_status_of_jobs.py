"""The exit status for a finished job."""

from __future__ import annotations

import pytest

from assay.commands.run import status_of


@pytest.mark.parametrize(
    ("job", "status"),
    [
        ({"state": "succeeded"}, 0),
        ({"state": "succeeded", "result": None}, 0),
        ({"state": "succeeded", "result": {"status": "done"}}, 0),
        ({"state": "succeeded", "result": {"status": "best_so_far"}}, 0),
        ({"state": "succeeded", "result": {"success": False, "message": "There is no such node."}}, 1),
        ({"state": "succeeded", "result": {"success": True}}, 0),
        ({"state": "succeeded", "result": {"status": "question"}}, 6),
        ({"state": "succeeded", "result": {"status": "unverified"}}, 7),
        ({"state": "failed", "error": {"code": "user_code_failed"}}, 1),
        ({"state": "failed", "error": {"code": "not_found"}}, 3),
        ({"state": "failed", "error": {"code": "unknown_collection"}}, 3),
        ({"state": "cancelled", "error": None}, 1),
        ({"state": "dead"}, 1),
    ],
)
def test_what_a_job_names_and_is_not_there_exits_with_3(job: dict[str, object], status: int) -> None:
    assert status_of(job) == status
