"""Every kind of job has its workbench, and every past job opens in it."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect
from sqlalchemy import create_engine

from shared.contracts.definitions import SightedFile
from shared.db import with_driver
from shared.stacks.proposals import Seen, record
from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console, Visit
from tests.console.once import ROOT

pytestmark = [pytest.mark.slow(seconds=3), pytest.mark.timeout(240)]

_DEMO = ROOT / "services" / "host" / "demo"


@pytest.fixture
def flow(console: Console) -> Iterator[str]:
    """The id of a small flow."""
    with console.api as api:
        body = {"format": "mermaid", "text": (_DEMO / "shop.mmd").read_text(), "name": "Shop"}
        made = api.post("/v1/flows/import", json=body).json()
        yield made["id"]
        api.delete(f"/v1/flows/{made['id']}")


def test_a_proposal_is_accepted_in_part_undone_and_redone(page: Page, console: Console, flow: str) -> None:
    page.goto(f"/flows/{flow}")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    page.get_by_label("What should change").fill("Put a review before the payment")
    page.get_by_role("button", name="Send").click()
    proposal = page.get_by_label("Proposal")
    expect(proposal).to_contain_text("node Review")
    expect(page.locator(".node.added")).to_contain_text("Review")
    boxes = proposal.get_by_role("checkbox")
    total = boxes.count()
    boxes.first.uncheck()
    expect(page.locator(".node.added"), "what is left out is not drawn").to_have_count(0)
    boxes.first.check()
    expect(page.locator(".node.added")).to_contain_text("Review")
    boxes.nth(total - 1).uncheck()
    proposal.get_by_role("button", name=f"Accept {total - 1} of {total}").click()
    expect(page.locator(".node.added")).to_have_count(0)
    expect(page.locator(".react-flow__node", has_text="Review")).to_be_visible()
    assert _labels(console, flow).count("Review") == 1
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator(".react-flow__node")).to_have_count(3)
    assert "Review" not in _labels(console, flow)
    page.get_by_role("button", name="Redo", exact=True).click()
    expect(page.locator(".react-flow__node", has_text="Review")).to_be_visible()
    assert _labels(console, flow).count("Review") == 1
    page.goto(f"/flows/{flow}")
    chat = page.locator(".chat")
    expect(chat).to_contain_text(
        re.compile(r"Put a review before the payment.*Added Review.*\(2 attempts\)", re.DOTALL)
    )
    assert "<response>" not in chat.inner_text(), "what was said, not how a model was asked to write it"
    assert "Previous tool execution" not in chat.inner_text()
    with console.api as api:
        turn = api.get("/v1/jobs", params={"kind": "flow", "limit": 1}).json()["items"][0]["id"]
    page.goto(f"/jobs/{turn}?tab=attempts")
    repair = page.get_by_label("Attempt 2", exact=True)
    expect(repair.locator(".callout.bad")).to_contain_text("Parent node basket not found")
    expect(repair.locator(".ln.del")).to_have_text(re.compile('parentNodeId: "basket"'))
    expect(repair.locator(".ln.add").first).to_contain_text('parentNodeId: "cart"')


def _labels(console: Console, flow: str) -> list[str]:
    """Of the nodes as the server has them."""
    with console.api as api:
        nodes = api.get(f"/v1/flows/{flow}").json()["nodes"]
    return [str(node["data"]["label"]) for node in nodes]


def test_a_flow_is_imported_and_exported(page: Page) -> None:
    page.goto("/flows")
    page.get_by_role("button", name="New flow").first.click()
    page.get_by_label("Mermaid or JSON to import").fill("flowchart LR\n  a[Cart] --> b\n  click a href nowhere\n")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("line 3: click a href nowhere")
    expect(page.get_by_role("link", name="Open the flow")).to_be_visible()
    page.get_by_role("button", name="Use a sample").click()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page).to_have_url(re.compile("/flows/[0-9a-f]"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Mermaid").click()
    assert "flowchart" in Path(download.value.path()).read_text()


def test_evidence_opens_and_a_rule_is_left_out(page: Page, console: Console) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        text = b'{"name": "shop",\n "dependencies": {"express": "^4.18.0"},\n "scripts": {"start": "node ."}}'
        info = tarfile.TarInfo("shop/package.json")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    page.goto("/detect")
    page.locator("input[type=file]").set_input_files(
        {"name": "shop.tar.gz", "mimeType": "application/gzip", "buffer": archive.getvalue()}
    )
    expect(page.get_by_text("shop.tar.gz")).to_be_visible()
    page.get_by_role("button", name="Detect", exact=True).click()
    express = page.get_by_role("button", name="Express")
    express.click()
    page.get_by_role("button", name="package.json:2").first.click()
    source = page.get_by_role("region", name="Source of package.json")
    expect(source.locator(".ln.mark")).to_contain_text('"dependencies": {"express"')
    expect(source).to_contain_text('"scripts"')
    expect(page.get_by_role("region", name="Findings")).to_contain_text("Not pinned")
    page.get_by_role("button", name="Disable this rule and run again").first.click()
    expect(page.get_by_text(re.compile("^without"))).to_be_visible()
    expect(express).to_have_count(0)
    expect(page.get_by_role("region", name="Findings")).to_be_visible()  # it has ended
    job = console.job(page)
    assert job["input"]["disable"], "the rule is left out by the job, not by the page"
    assert "Express" not in str(job["result"]["services"])
    assert job["input"]["source"]["name"] == "shop.tar.gz"
    with console.api as api:
        (listed,) = api.get("/v1/jobs", params={"kind": "detect", "limit": 1}).json()["items"]
    assert listed["title"] == "shop.tar.gz"
    page.get_by_role("link", name="Compare with the previous run").click()
    found = page.get_by_role("region", name="What was found")
    expect(found).to_contain_text("framework: express")
    expect(found.locator(".tag", has_text="-").first).to_be_visible()


def test_rules_are_read_by_version_restored_and_made_of_what_models_named(page: Page, console: Console) -> None:
    rules = "# ours\ndefinitions:\n  - {id: acme, kind: framework, name: Acme, files: [acme.toml]}\n"
    more = "  - {id: zorp, kind: language, name: Zorp, files: ['*.zorp']}\n"
    with console.api as api:
        first = api.put("/v1/stacks/definitions", json={"yaml": rules}).json()["version"]
        assert api.put("/v1/stacks/definitions", json={"yaml": rules + more}).status_code == 200
    _sight_blorb(console)

    page.goto(f"/detect?rules={first + 1}")
    versions = page.get_by_role("region", name="Versions of the rules")
    expect(versions.locator(".ln.add")).to_contain_text("zorp")
    expect(versions).to_contain_text("by key")
    versions.get_by_role("button", name=f"Restore version {first}").click()
    expect(page.get_by_text(f"Version {first + 2}.")).to_be_visible()

    proposed = page.get_by_role("region", name="Proposed rules")
    expect(proposed).to_contain_text("○ open")
    proposed.get_by_role("button", name="Blorb").click()
    expect(page).to_have_url(re.compile("proposal=build_system"))
    expect(proposed.get_by_label("Proposed rule", exact=True)).to_contain_text("+ files: Blorbfile")
    proposed.get_by_role("button", name="Add rule").click()
    expect(proposed).to_contain_text("✓ promoted")
    expect(page.get_by_text(f"Version {first + 3}.")).to_be_visible()
    with console.api as api:
        now = api.get("/v1/stacks/definitions").json()
        assert [each["id"] for each in now["definitions"]] == ["acme", "blorb"]
        assert now["yaml"].startswith("# ours")
        api.delete("/v1/stacks/definitions")


def _sight_blorb(console: Console) -> None:
    """Let a job have seen Blorb, which no rule knows: the scripted models name nothing."""
    job = console.run("execute", language="python", code="1")["id"]
    files = [SightedFile(file="Blorbfile", line=None, pattern="Blorbfile")]
    seen = Seen("build_system", "blorb", "Blorb", "native", 0.8, None, files)
    engine = create_engine(with_driver(json.loads(console.shell("status", "-o", "json").out)["database_url"]))
    with engine.begin() as connection:
        record(console.tenant, job, "a source", [seen])(connection)
    engine.dispose()


@pytest.mark.parametrize(
    ("kind", "place", "input", "sign"),
    [
        ("execute", "/run", {"language": "python", "code": "print('from the past')"}, "from the past"),
        ("document", "/documents", {"markdown": "# From the past\n"}, "From the past"),
    ],
)
def test_a_past_job_opens_in_its_workbench(
    page: Page, console: Console, kind: str, place: str, input: dict[str, object], sign: str
) -> None:
    job = console.run(kind, **input)
    page.goto(f"/jobs/{job['id']}")
    page.get_by_role("link", name=re.compile("^Open in ")).click()
    expect(page).to_have_url(re.compile(place))
    expect(page.locator(".cm-content")).to_contain_text(sign)
    assert console.job(page)["id"] == job["id"]


def test_a_past_run_brings_its_files_and_limits(page: Page, console: Console) -> None:
    with console.api as api:
        file = api.post("/v1/files", params={"name": "n.txt"}, content=b"7").json()["id"]
    code = 'print(int(open("n.txt").read()) * 6)'
    files = [{"id": file, "path": "n.txt"}]
    job = console.run("execute", language="python", code=code, files=files, limits={"wall_seconds": 7})
    page.goto(f"/run?job={job['id']}")
    expect(page.get_by_text("n.txt", exact=True)).to_be_visible()
    expect(page.get_by_label("Timeout (s)")).to_have_value("7")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page).not_to_have_url(re.compile("job=" + job["id"]))
    expect(page.get_by_text("It ran to its end.")).to_be_visible()
    again = console.job(page)["input"]
    assert ([each["id"] for each in again["files"]], again["limits"]["wall_seconds"]) == ([file], 7)


def test_what_is_wrong_with_a_field_stands_at_the_field(visit: Visit) -> None:
    page = visit("422").tab()
    page.goto("/keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog")
    tenant, name = (form.get_by_role("textbox", name=field) for field in ("Tenant", "Name"))
    tenant.fill("No Such Name!")
    name.fill("somebody")
    form.get_by_role("button", name="Create key").click()
    expect(tenant).to_have_attribute("aria-invalid", "true")
    expect(tenant).to_have_accessible_description(re.compile("must begin with a-z or 0-9"))
    expect(name).not_to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_contain_text("Please fix the highlighted fields.")
    expect_accessible_as_it_is(page, "a field that is refused")


def test_jobs_are_chosen_compared_and_run_again(page: Page, console: Console) -> None:
    for text in ("one", "two"):
        console.run("execute", language="python", code=f"print('{text}')  # compared")
    page.goto("/jobs?q=compared")
    picks = page.locator("[data-pick]")
    expect(picks).to_have_count(2)
    picks.nth(0).click()
    picks.nth(1).click()
    chosen = page.get_by_label("Selected jobs")
    chosen.get_by_role("button", name="Retry 2").click()
    expect(chosen.get_by_text("retried as")).to_have_count(2)
    chosen.get_by_role("link", name="Compare").click()
    expect(page.get_by_label("Differences").first).to_contain_text("print('one')")
    with console.api as api:
        assert len(api.get("/v1/jobs", params={"q": "compared"}).json()["items"]) == 4


def test_an_uploaded_file_shows_its_columns_and_a_long_result_all_its_rows(page: Page, console: Console) -> None:
    page.goto("/transform")
    lines = "".join(f"{number},{'Oslo' if number % 2 else 'Rome'}\n" for number in range(300))
    file: FilePayload = {"name": "cities.csv", "mimeType": "text/csv", "buffer": f"n,city\n{lines}".encode()}
    page.locator("input[type=file]").set_input_files(file)
    columns = page.get_by_role("region", name="What the model sees of data")
    expect(columns.get_by_role("columnheader").first).to_contain_text("0 to 299")
    columns.get_by_role("button", name="city").click()
    expect(columns.get_by_role("button", name="city (masked)")).to_have_attribute("aria-pressed", "true")
    expect(columns).not_to_contain_text("Oslo")
    expect(page.get_by_text("Read as: Text table, utf-8, comma, names in row 1")).to_be_visible()
    page.get_by_role("button", name="Change how it is read").click()
    page.get_by_label("Row of the column names").fill("0")
    expect(columns.get_by_role("columnheader").first).to_contain_text("column_1")
    expect(page.get_by_text("Read as: Text table, utf-8, comma, no column names")).to_be_visible()
    page.get_by_role("button", name="Detect again").click()
    expect(columns.get_by_role("columnheader").first).to_contain_text("0 to 299")

    data = [{"name": "data", "csv": f"n,city\n{lines}"}]
    job = console.run("transform", task="as it is", data=data, code="result = data", output="table")
    page.goto(f"/jobs/{job['id']}?tab=result")
    table = page.get_by_role("region", name="The result")
    expect(table.get_by_role("row").nth(1)).to_contain_text("0Rome")
    for direction in ("ascending", "descending"):
        table.get_by_role("button", name="n", exact=True).click()
        expect(table.get_by_role("columnheader").first).to_have_attribute("aria-sort", direction)
    expect(table.get_by_role("row").nth(1)).to_contain_text("299Oslo")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("101 to 200 of 300 rows")).to_be_visible()
    for cells, align in (("nth-child(1)", "right"), ("nth-child(2)", "left")):
        for cell in (table.locator(f"thead th:{cells}"), table.locator(f"tbody td:{cells}").first):
            expect(cell, "as in a table of one page").to_have_css("text-align", align)
    expect(table.locator("tbody td.num").first).to_have_css("font-variant-numeric", "tabular-nums")
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("1 to 100 of 300 rows")).to_be_visible()


@pytest.mark.parametrize(
    ("place", "button", "shown"),
    [
        ("/run", "Run", "It ran to its end."),
        ("/documents", "Run changed blocks", "Block at line 3"),
        ("/documents", "Run all", "Block at line 3"),
    ],
)
def test_a_button_keeps_the_focus_while_its_job_runs(page: Page, place: str, button: str, shown: str) -> None:
    page.goto(place)
    run = page.get_by_role("button", name=button, exact=True)
    run.press("Enter")
    result = page.get_by_text(shown).or_(page.get_by_role("region", name=shown))
    expect(result.first).to_be_visible()
    expect(run).to_be_focused()


def test_a_focus_that_was_moved_meanwhile_stays_there(page: Page) -> None:
    page.goto("/run")
    with page.expect_response("**/v1/jobs") as posted:
        page.get_by_role("button", name="Run", exact=True).press("Enter")
        page.get_by_label("Timeout (s)").focus()
    assert posted.value.ok
    expect(page.get_by_text("It ran to its end.")).to_be_visible()
    expect(page.get_by_label("Timeout (s)")).to_be_focused()
