"""Code that was accepted once runs again on other data, without a call of a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.console.accessibility import expect_accessible
from tests.console.conftest import Console

pytestmark = [pytest.mark.slow(seconds=11), pytest.mark.timeout(240)]

_MADE_FOR = "city,amount,note\nOslo,3,a\nOslo,5,b\nRome,4,c\n"
_NEW = b"year,amount,city\n2026,1.5,Bergen\n2026,2.5,Bergen\n2025,4.0,Rome\n"
_ALIKE = b"city,amount,note\nBergen,7,d\n"


def _file(name: str, text: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": text}


def test_accepted_code_runs_on_new_data_without_a_model_and_tells_first_what_is_different(
    page: Page, console: Console
) -> None:
    made = console.run("transform", task="Total amount by city", data=[{"name": "data", "csv": _MADE_FOR}])
    page.goto(f"/transform?job={made['id']}")
    with page.expect_download() as kept:
        page.get_by_role("button", name="Save code").click()
    assert Path(kept.value.path()).read_text() == made["result"]["code"]

    new = page.get_by_role("region", name="New data")
    chooser = new.get_by_label("Run on new data, without a model")
    chooser.set_input_files(_file("alike.csv", _ALIKE))
    expect(new.get_by_text("It has the columns that the code was made for.")).to_be_visible()
    new.get_by_role("button", name="Remove alike.csv").click()
    expect(new.get_by_role("button", name="Run it on this")).to_have_count(0)
    chooser.set_input_files(_file("new.csv", _NEW))
    drift = new.locator(".callout.warn div")
    told = ["data.amount is float and was int", "data.note is missing", "data.year is new"]
    expect(drift).to_have_text(told)
    assert console.job(page)["id"] == made["id"], "nothing runs before one has seen it"
    expect_accessible(page, page.url)
    expect(drift, "what is chosen stands in the address").to_have_text(told)
    expect(new).to_contain_text("new.csv")

    new.get_by_role("button", name="Run it on this").click()
    expect(page).not_to_have_url(re.compile(made["id"]))
    result = page.get_by_role("region", name="The result")
    expect(result.get_by_role("row").nth(1)).to_contain_text("Bergen4")
    expect(page.locator(".callout.warn div")).to_have_text(told)
    expect(page.get_by_role("button", name="Run it on this")).to_have_count(0)
    ran = console.job(page)
    assert ran["input"]["code"] == made["result"]["code"]
    assert [f"{each['column']} {each['change']}" for each in ran["result"]["drift"]] == [
        "amount type", "note missing", "year new",
    ]  # fmt: skip
    with console.api as api:
        assert api.get(f"/v1/jobs/{ran['id']}/llm-calls").json()["items"] == []
    page.goto(f"/jobs/{ran['id']}?tab=models")
    expect(page.get_by_text("No model was called.")).to_be_visible()
