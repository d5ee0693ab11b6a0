"""What five people come for, from the overview on, with the clicks that it takes. Typing is not counted."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import TASK, Console, Visit

pytestmark = [pytest.mark.slow(seconds=10), pytest.mark.timeout(240)]

PROMPT = "execution.transform"


class Clicks:
    """Clicks of one person, who may use no more."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made: list[str] = []

    def __call__(self, on: Locator) -> None:
        self.made.append(str(on))
        assert len(self.made) <= self.most, self.made
        on.click()


def test_an_analyst_has_the_table_of_a_task_in_four_clicks(page: Page, prices: str, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text(prices)
    click = Clicks(4)
    page.goto("/")
    click(page.get_by_role("link", name="New job"))
    with page.expect_file_chooser() as chooser:
        click(page.get_by_role("button", name="Add data files"))
    chooser.value.set_files(tmp_path / "prices.csv")
    page.get_by_label("Task").fill(TASK)
    click(page.get_by_role("button", name="Run", exact=True))
    with page.expect_download() as table:
        click(page.get_by_role("group", name="Download the table").get_by_role("button", name="CSV"))
    rows = list(csv.DictReader(Path(table.value.path()).read_text().splitlines()))
    assert [row["month"] for row in rows] == sorted({row["month"] for row in rows})
    assert len(rows) == 4


@pytest.mark.alone
@pytest.mark.usefixtures("repaired")
def test_a_prompt_engineer_tries_and_publishes_a_change_in_five_clicks(page: Page, console: Console) -> None:
    with console.api as api:
        before = api.get(f"/v1/prompts/{PROMPT}").json()
    click = Clicks(5)
    page.goto("/")
    click(page.get_by_role("link", name="Prompts", exact=True))
    click(page.get_by_role("link", name=PROMPT, exact=True))
    page.locator(".cm-content").fill(f"Be brief.\n{before['text']}")
    click(page.get_by_role("group", name="Its latest jobs").get_by_role("button").first)
    click(page.get_by_role("button", name="Run test"))
    expect(page.get_by_role("region", name="What the model answered")).to_be_visible()
    click(page.get_by_role("button", name="Publish"))
    expect(page.get_by_text(f"version {before['version'] + 1} in use")).to_be_visible()
    with console.api as api:
        assert api.get(f"/v1/prompts/{PROMPT}").json()["text"].startswith("Be brief.")
        assert api.post(f"/v1/prompts/{PROMPT}/reset").status_code == 200


def test_an_operator_finds_why_programs_fail_in_four_clicks(visit: Visit, console: Console) -> None:
    mine = console.member("read", "write", tenant="operator")
    for code in ("print(1)", "import nowhere_at_all", "import time; time.sleep(60)"):
        limits = {"limits": {"wall_seconds": 1}} if "sleep" in code else {}
        mine.run("execute", language="python", code=code, **limits)
    page = visit(key=mine.key).tab()
    click = Clicks(4)
    page.goto("/")
    reasons = page.get_by_role("region", name="Reasons of failures").locator("tbody tr")
    expect(reasons).to_have_count(2)
    expect(reasons.filter(has_text="Timed out").get_by_role("cell").nth(4)).to_have_text("1")
    click(reasons.get_by_role("link", name="Program error"))
    jobs = page.locator("[data-row]")
    expect(jobs).to_have_count(1)
    click(jobs.get_by_role("link"))
    expect(page.get_by_text("ModuleNotFoundError", exact=False).first).to_be_visible()
    page.go_back()
    click(page.get_by_role("group", name="Jobs by state").get_by_role("button", name="Failed"))
    expect(jobs).to_have_count(2)
    click(page.get_by_role("table", name="Jobs").get_by_role("button", name="Duration"))
    expect(jobs.first).to_contain_text("Timed out")


def test_a_developer_has_a_key_and_a_request_that_works_in_four_clicks(page: Page, console: Console) -> None:
    click = Clicks(4)
    page.goto("/")
    click(page.get_by_role("link", name="Keys", exact=True))
    click(page.get_by_role("button", name="New key"))
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("billing")
    click(dialog.get_by_role("button", name="Create key"))
    shown = dialog.locator("pre").inner_text()
    click(dialog.get_by_role("button", name="Copy", exact=True).first)
    url, key = re.search(r"curl -s (\S+)", shown), re.search(r"Bearer (\w+)", shown)
    assert url is not None
    assert key is not None
    assert url[1].startswith(console.url)
    assert httpx.get(url[1], headers={"Authorization": f"Bearer {key[1]}"}).status_code == 200


def test_a_researcher_searches_a_file_of_her_own_in_eight_clicks(
    visit: Visit, console: Console, tmp_path: Path
) -> None:
    texts = ["Tuning a Postgres vacuum", "Baking bread with rye", "A history of the vacuum cleaner"]
    lines = [f"{number},{text},{text} in ten steps" for number, text in enumerate(texts)]
    (tmp_path / "talks.csv").write_text("\n".join(["number,title,abstract", *lines]))
    mine = console.member("read", "write", tenant="researcher")
    page = visit(key=mine.key).tab()
    click = Clicks(8)
    page.goto("/")
    click(page.get_by_role("link", name="Search", exact=True))
    page.get_by_label("Name", exact=True).fill("talks")
    page.get_by_label("Table", exact=True).fill("talks")
    click(page.get_by_role("button", name="Create", exact=True))
    with page.expect_file_chooser() as chooser:
        click(page.get_by_role("button", name="Upload file (JSONL, CSV, Parquet)"))
    chooser.value.set_files(tmp_path / "talks.csv")
    click(page.get_by_role("button", name="Add 3 records"))
    expect(page.get_by_text("3 new, 0 changed")).to_be_visible()
    click(page.get_by_role("button", name="Questions"))
    page.get_by_label("Question").fill("postgres vacuum")
    click(page.get_by_role("button", name="Search", exact=True))
    hits = page.get_by_role("region", name="Hits in talks").locator(".hit")
    expect(hits.first).to_contain_text("Tuning a Postgres vacuum")
    assert len(click.made) == 6
