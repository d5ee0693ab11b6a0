"""Every kind of job has its workbench, and every past job opens in it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect
from sqlalchemy import create_engine

from shared.contracts.definitions import SightedFile
from shared.db import with_driver
from shared.stacks.proposals import Seen, record
from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import ROOT, Console, Visit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("console")]

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
    expect(proposal).to_contain_text("+ node Review")
    expect(page.locator(".node.added")).to_contain_text("+ Review")
    boxes = proposal.get_by_role("checkbox")
    total = boxes.count()
    boxes.first.uncheck()
    expect(page.locator(".node.added"), "what is left out is not drawn").to_have_count(0)
    boxes.first.check()
    expect(page.locator(".node.added")).to_contain_text("+ Review")
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
    chat = page.get_by_label("Chat")
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
    page.get_by_label("Mermaid or JSON to import").fill("flowchart LR\n  a[Cart] --> b\n  click a href nowhere\n")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("line 3: click a href nowhere")
    expect(page.get_by_role("link", name="Open the flow")).to_be_visible()
    page.get_by_role("button", name="Use a sample").click()
    page.get_by_role("button", name="Import").click()
    expect(page).to_have_url(re.compile("/flows/[0-9a-f]"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="mermaid").click()
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
    job = console.job(page)
    assert job["input"]["disable"], "the rule is left out by the job, not by the page"
    assert "Express" not in str(job["result"]["services"])
    assert job["input"]["source"]["name"] == "shop.tar.gz"
    with console.api as api:
        (listed,) = api.get("/v1/jobs", params={"kind": "detect", "limit": 1}).json()["items"]
    assert listed["title"] == "shop.tar.gz"
    page.get_by_role("link", name="Difference to the run before").click()
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
    versions.get_by_role("button", name=f"Use version {first} again").click()
    expect(page.get_by_text(f"Version {first + 2}.")).to_be_visible()

    proposed = page.get_by_role("region", name="Proposed rules")
    expect(proposed).to_contain_text("○ open")
    proposed.get_by_role("button", name="Blorb").click()
    expect(page).to_have_url(re.compile("proposal=build_system"))
    expect(proposed.get_by_label("The rule that would be added")).to_contain_text("+ files: Blorbfile")
    proposed.get_by_role("button", name="Make it a rule").click()
    expect(proposed).to_contain_text("✓ promoted")
    expect(page.get_by_text(f"Version {first + 3}.")).to_be_visible()
    with console.api as api:
        now = api.get("/v1/stacks/definitions").json()
        assert [each["id"] for each in now["definitions"]] == ["acme", "blorb"]
        assert now["yaml"].startswith("# ours")
        api.delete("/v1/stacks/definitions")


def _sight_blorb(console: Console) -> None:
    """Let a job have been told of Blorb, which no rule knows: the scripted models name nothing."""
    job = console.run("execute", language="python", code="1")["id"]
    files = [SightedFile(file="Blorbfile", line=None, pattern="Blorbfile")]
    seen = Seen("build_system", "blorb", "Blorb", "native", 0.8, None, files)
    engine = create_engine(with_driver(json.loads(console.shell("status", "-o", "json").out)["database_url"]))
    with engine.begin() as connection:
        record("default", job, "a source", [seen])(connection)
    engine.dispose()


def test_a_document_runs_and_shows_where_its_values_come_from(page: Page, console: Console) -> None:
    page.goto("/documents")
    page.get_by_role("button", name="Run what is stale").click()
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_text("The total is 6.")).to_be_visible()
    marks = page.locator(".cm-marks")
    expect(marks).to_contain_text("✓")
    page.get_by_role("button", name="What is stale?").click()
    expect(page.locator("main").get_by_text("Nothing would have to run.")).to_be_visible()  # it is also read out
    expect(marks.get_by_title("chunk: fresh")).to_be_visible()
    ran = console.job(page)["id"]
    page.locator(".cm-line").filter(has_text="numbers = [3, 1, 2]").click()
    page.keyboard.press("End")
    page.keyboard.type(" + [4]")
    expect(page.get_by_text("The document was changed since")).to_be_visible()
    page.get_by_role("button", name="What is stale?").click()
    expect(page.get_by_text("2 of 2 blocks would have to run.")).to_be_visible()
    expect(marks.get_by_title("chunk: stale")).to_be_visible()
    assert console.job(page)["id"] == ran, "a look leaves the page where it was"
    page.get_by_role("button", name="Run what is stale").click()
    expect(frame.get_by_text("The total is 10.")).to_be_visible()
    expect(page.get_by_text("The document was changed since")).to_have_count(0)
    page.get_by_text("What differs from the last run").click()
    expect(page.get_by_label("Differences").first).to_contain_text("put out: 10")


def test_values_in_the_page_of_a_document_tell_their_code_and_lead_there(page: Page, console: Console) -> None:
    filling = "".join(f"## Part {number}\n\n{'Words. ' * 60}\n\n" for number in range(30))
    text = (
        "# Sums\n\n```python exec\nname = 'Ünï𝒳'\ntotal = 41\ntotal + 1\n```\n\n"
        f"𝒳 first: `name`{{python exec}} has `total`{{python exec}} of them.\n\n{filling}"
        "The last is `total * 2`{python exec}.\n"
    )
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    values = frame.locator(".value")
    expect(values).to_have_text(["42", "Ünï𝒳", "41", "82"])
    told = page.locator(".told")
    facts = (("name", "str", "9 B"), ("total", "int", "2 B"), ("total * 2", "int", "2 B"))
    for index, (code, kind, size) in enumerate(facts, 1):
        values.nth(index).focus()
        expect(told).to_contain_text(re.compile(rf"^{re.escape(code)}Kernel ?python ?Type ?{kind} ?Size ?{size}"))
        expect(told).to_contain_text(re.compile(r"SHA-256 ?[0-9a-f]{12} ?Made by ?chunk-1, lines 3 to 7"))
        expect(values.nth(index)).to_have_attribute("aria-description", re.compile(f"{kind} · .* lines 3 to 7$"))
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    values.nth(0).hover()
    expect(told).to_contain_text(hashlib.sha256(b"42").hexdigest()[:12])
    expect_accessible_as_it_is(page, "a value that tells of itself")

    scroller = page.locator(".cm-scroller")
    page.locator("iframe").hover()
    page.mouse.wheel(0, 100_000)
    expect(values.nth(3)).to_be_in_viewport()
    expect(page.locator(".cm-line", has_text="The last is")).to_be_in_viewport()
    page.wait_for_timeout(400)  # until the editor's own following is over
    scroller.evaluate("element => { element.scrollTop = 0; }")
    expect(frame.get_by_role("heading", name="Sums")).to_be_in_viewport()
    values.nth(3).click()
    _expect_the_cursor_at(page, "```python exec")
    values.nth(3).hover()
    told.get_by_role("button", name=re.compile("^expression-3, line")).click()
    _expect_the_cursor_at(page, "The last is")
    expect(told).to_have_count(0)
    values.nth(2).press("Enter")
    _expect_the_cursor_at(page, "```python exec")


def _expect_the_cursor_at(page: Page, text: str) -> None:
    """In the editor, at the line that begins so."""
    expect(page.locator(".cm-content")).to_be_focused()
    here = "element => element.ownerDocument.getSelection().anchorNode.parentElement.closest('.cm-line').textContent"
    assert str(page.locator(".cm-content").evaluate(here)).startswith(text)


def test_an_editor_that_comes_late_goes_to_where_the_page_is(page: Page, console: Console) -> None:
    filling = "".join(f"## Part {number}\n\n{'Words. ' * 60}\n\n" for number in range(30))
    job = console.run("document", markdown=f"# Sums\n\n{filling}The last.\n")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/assets/codemirror-"), hold)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_role("heading", name="Sums")).to_be_visible()
    page.locator("iframe").hover()
    page.mouse.wheel(0, 100_000)
    expect(frame.get_by_text("The last.")).to_be_in_viewport()
    (editor,) = held
    editor.continue_()
    expect(page.locator(".cm-line", has_text="The last.")).to_be_in_viewport()


def test_names_of_the_document_are_offered_after_two_braces(page: Page, console: Console) -> None:
    page.goto("/documents")
    page.locator(".cm-line").filter(has_text="The total is").click()
    page.keyboard.press("End")
    page.keyboard.type(" And {{ ")
    offered = page.get_by_role("listbox", name="Names of the document")
    expect(offered.get_by_role("option")).to_have_text(["numbers", "total"])
    page.keyboard.press("ArrowDown")
    expect(offered.get_by_role("option", selected=True)).to_have_text("total")
    page.keyboard.press("Enter")
    expect(offered).to_have_count(0)
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("And {{ total}}")
    page.keyboard.type(" {{ num")
    offered.get_by_text("numbers").click()
    expect(editor).to_contain_text("{{ total}} {{ numbers}}")
    page.keyboard.type(" {{")
    page.keyboard.press("Escape")
    expect(offered).to_have_count(0)
    page.keyboard.press("Enter")
    expect(editor).to_contain_text("{{ numbers}} {{")


def test_a_value_leads_to_its_block_and_an_answer_is_edited_before_it_is_taken(page: Page, console: Console) -> None:
    text = "# Prices\n\n```python exec\nmean = 4.5\n```\n\n::: describe The mean is {{ mean }} :::\n"
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    value = page.get_by_label("Where values stand").get_by_role("button", name="4.5")
    expect(value).to_have_attribute("title", re.compile("mean · python · float .* made by chunk-1$"))
    expect(page.locator(".cm-content")).to_contain_text("mean = 4.5")
    expect(page.get_by_role("region", name="As it is written")).to_contain_text("The mean is {{ mean }}")
    expect(page.get_by_role("region", name="The answer", exact=True)).to_contain_text("written by a script")
    value.click()
    expect(page.locator(".cm-focused")).to_be_visible()
    answers = page.get_by_role("region", name="Answers")
    answers.get_by_role("button", name="Edit").click()
    answers.get_by_label("The answer").fill("The mean of the prices is 4.5.")
    answers.get_by_role("button", name="Accept as edited").click()
    expect(page.locator(".cm-content")).to_contain_text("The mean of the prices is 4.5.")
    expect(answers.get_by_role("button", name="Reject")).to_have_count(0)


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
    page.get_by_role("link", name="Open in the workbench").click()
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
    expect(page.get_by_label("Seconds at most")).to_have_value("7 s")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page).not_to_have_url(re.compile("job=" + job["id"]))
    expect(page.get_by_text("It ran to its end.")).to_be_visible()
    again = console.job(page)["input"]
    assert ([each["id"] for each in again["files"]], again["limits"]["wall_seconds"]) == ([file], 7)


def test_a_chain_is_reordered_by_keys_and_by_dragging(page: Page, console: Console) -> None:
    with console.api as api:
        assert api.post("/v1/models/flows.edit/test").json()["ok"]
    page.goto("/models")
    expect(page.get_by_role("img", name=re.compile(r"^[\d,]+ calls; .*p95")).first).to_be_visible()
    role = page.get_by_label("Role flows.edit")
    first = role.get_by_role("listitem").first
    before = first.inner_text()
    role.get_by_role("button", name=re.compile("later$")).first.press("Enter")
    expect(first).not_to_contain_text(before.split("\n")[1])
    role.get_by_role("button", name="Save").press("Enter")
    expect(role.get_by_role("button", name="Save")).to_be_disabled()
    role.get_by_role("button", name="Test").press("Enter")
    expect(role.locator("p.callout")).to_contain_text("answered in")
    with console.api as api:
        chain = api.get("/v1/models").json()["roles"]["flows.edit"]
        assert f"{chain[1]['provider']}/{chain[1]['model']}" == before.split("\n")[1]
        models = api.post("/v1/models/reset").json()
    _drags(page, models["roles"]["search.plan"])
    prices = page.get_by_role("region", name="Prices")
    price = next(each for each in models["prices"] if each["input"] is not None)
    row = prices.get_by_role("row").filter(has_text=f"{price['provider']}/{price['model']}").first
    expect(row).to_contain_text(f"${price['input']:g}")
    expect(row).to_contain_text(price["as_of"])
    expect(prices).to_contain_text("unknown")
    expect(prices.get_by_role("cell", name="$0", exact=True)).to_have_count(0)


def _drags(page: Page, chain: list[dict[str, str]]) -> None:
    """The first below the last, and back by the arrow keys; what is not saved is as it was by a click."""
    role = page.get_by_label("Role search.plan")
    rows, handles = role.get_by_role("listitem"), role.get_by_role("button", name=re.compile("^Move"))
    first, last = chain[0]["model"], len(chain) - 1
    expect(rows.nth(0)).to_contain_text(first)
    handles.nth(0).hover()
    page.mouse.down()
    target = rows.nth(last).bounding_box()
    assert target is not None
    page.mouse.move(target["x"] + 8, target["y"] + target["height"] / 2, steps=5)
    page.mouse.up()
    expect(rows.nth(last)).to_contain_text(first)
    handles.nth(last).press("ArrowUp")
    expect(rows.nth(last - 1)).to_contain_text(first)
    expect(handles.nth(last - 1)).to_be_focused()
    role.get_by_role("button", name="As it was").click()
    expect(rows.nth(0)).to_contain_text(first)
    expect(role.get_by_role("button", name="Save")).to_be_disabled()


def test_what_is_wrong_with_a_field_stands_at_the_field(visit: Visit) -> None:
    page = visit("422").tab()
    page.goto("/keys")
    form = page.get_by_role("region", name="New key")
    tenant, name = (form.get_by_role("textbox", name=field) for field in ("Tenant", "Name"))
    tenant.fill("No Such Name!")
    name.fill("somebody")
    form.get_by_role("button", name="Create").click()
    expect(tenant).to_have_attribute("aria-invalid", "true")
    expect(tenant).to_have_accessible_description(re.compile("match"))
    expect(name).not_to_have_attribute("aria-invalid", "true")
    expect(form.get_by_role("alert")).to_contain_text("What is wrong stands at its field.")
    expect_accessible_as_it_is(page, "a field that is refused")


def test_usage_tells_sources_apart_and_who_answered(page: Page, console: Console) -> None:
    data = [{"name": "data", "csv": "a,b\n1,2\n"}]
    console.run("transform", task="anything", data=data, max_iterations=2)
    page.goto("/usage?by=role")
    sources = page.get_by_role("group", name="Who answered")
    with console.api as api:
        whole = api.get("/v1/stats", params={"by": "role", "bucket": "all"}).json()["items"]
        days = api.get("/v1/stats", params={"by": "role", "source": "scripted"}).json()["items"]
        served = api.get("/v1/stats/served").json()["items"]
    role = next(row for row in whole if row["group"] == "execution.transform")
    tokens = sum(row["input_tokens"] for row in days if row["group"] == "execution.transform")
    assert tokens == role["input_tokens"] > 0
    table = page.get_by_role("region", name="Sums")
    row = table.get_by_role("row", name=re.compile("^execution.transform"))
    expect(row).to_contain_text(f"{tokens:,}")
    expect(row).to_contain_text(f"({role['turns_jobs']})")
    pairs = page.get_by_role("region", name="Who answered for whom").locator("tbody tr")
    expect(pairs).to_have_count(len(served))
    sources.get_by_role("button", name=re.compile("^scripted")).click()
    expect(row).to_contain_text(f"{tokens:,}")
    page.get_by_role("button", name="by day").click()
    expect(table.get_by_role("row", name=re.compile(r"^\d{4}-\d\d-\d\d execution.transform"))).to_be_visible()
    sources.get_by_role("button", name=re.compile("^replayed")).click()
    expect(page.get_by_text("Nothing has run in that time")).to_be_visible()
    expect(page).to_have_url(re.compile("source=replay.*rows=time|rows=time.*source=replay"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text().startswith("at,group,jobs,succeeded,failed,turns_p50,turns_mean,turns_jobs")


def test_queues_and_workers_are_those_that_run(page: Page, console: Console) -> None:
    page.goto("/queues")
    expect(page.get_by_role("region", name="Queues")).to_contain_text("transform")
    expect(page.get_by_role("region", name="Workers")).to_contain_text("execution")
    waited = page.get_by_role("img", name=re.compile(r"^execute: at most [\d,]+ waited within the last hour, now 0$"))
    expect(waited).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"^execute: [\d,]+ came and [\d,]+ ended"))).to_be_visible()
    with console.api as api:
        workers = api.get("/v1/workers").json()["items"]
    assert page.get_by_role("region", name="Workers").locator("tbody tr").count() == len(workers) > 0


def test_a_key_is_made_shown_once_and_revoked(page: Page, console: Console, visit: Visit) -> None:
    console.run("execute", language="python", code="1")
    page.goto("/keys")
    with console.api as api:
        tenants = api.get("/v1/stats", params={"by": "tenant", "bucket": "all"}).json()["items"]
    used = next(each for each in tenants if each["group"] == "default")
    tenant = page.get_by_role("region", name="Tenants").get_by_role("row", name=re.compile("^default"))
    expect(tenant).to_contain_text(f"{used['input_tokens'] + used['output_tokens']:,}")
    expect(page.get_by_role("checkbox", name=re.compile("^tenant_admin"))).to_be_visible()
    page.get_by_label("Name").fill("for a test")
    page.get_by_role("button", name="Create").click()
    key = page.locator(".callout.good code").inner_text()
    with console.api as api:
        api.headers["Authorization"] = f"Bearer {key}"
        session = api.get("/v1/session").json()
        assert session["name"] == "for a test"
        row = page.get_by_role("row", name=session["key_id"])
        row.get_by_role("button", name="Rotate").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("combobox", name="The old one stays good").click()
        page.get_by_role("option", name="for an hour").click()
        dialog.get_by_role("button", name="Rotate for a test").click()
        new = dialog.locator("code").inner_text()
        assert api.get("/v1/session", headers={"Authorization": f"Bearer {new}"}).json()["name"] == "for a test"
        ends = datetime.fromisoformat(api.get("/v1/session").json()["expires_at"])
        assert timedelta(minutes=55) < ends - datetime.now(UTC) <= timedelta(hours=1)
        dialog.get_by_role("button", name="I have it").click()
        row.get_by_role("button", name="Revoke").click()
        page.get_by_role("button", name="Revoke for a test").click()
        expect(row).to_contain_text("revoked")
        assert api.get("/v1/session").status_code == 401
    reader = visit(key=None)
    assert reader.complaints == []


def test_who_administers_a_tenant_has_its_keys_and_no_others(console: Console, visit: Visit) -> None:
    chief = console.somebody("shop", "read", "write", "tenant_admin")
    page = visit(key=chief.key).tab()
    page.goto("/jobs")
    page.get_by_role("navigation").get_by_role("link", name="Keys").click()
    rows = page.get_by_role("region", name="Keys").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("textbox", name="Tenant")).not_to_be_editable()
    expect(page.get_by_role("checkbox", name=re.compile("^tenant_admin"))).to_be_visible()
    expect(page.get_by_role("checkbox", name=re.compile("^admin"))).to_have_count(0)
    page.get_by_label("Name").fill("for the till")
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".callout.good code")).to_be_visible()
    expect(rows).to_have_count(2)
    made = rows.filter(has_text="for the till")
    expect(made).to_contain_text("shop")
    made.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke for the till").click()
    expect(made).to_contain_text("revoked")
    writer = visit(key=console.somebody("shop", "read", "write").key).tab()
    writer.goto("/jobs")
    expect(writer.get_by_role("navigation").get_by_role("link", name="Usage")).to_be_visible()
    expect(writer.get_by_role("navigation").get_by_role("link", name="Keys")).to_have_count(0)


def test_jobs_are_chosen_compared_and_run_again(page: Page, console: Console) -> None:
    for text in ("one", "two"):
        console.run("execute", language="python", code=f"print('{text}')  # compared")
    page.goto("/jobs?q=compared")
    picks = page.locator("[data-pick]")
    expect(picks).to_have_count(2)
    picks.nth(0).click()
    picks.nth(1).click()
    chosen = page.get_by_label("Chosen jobs")
    chosen.get_by_role("button", name="Run 2 again").click()
    expect(chosen.get_by_text("runs again as")).to_have_count(2)
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

    data = [{"name": "data", "csv": f"n,city\n{lines}"}]
    job = console.run("transform", task="as it is", data=data, code="result = data", output="table")
    page.goto(f"/jobs/{job['id']}?tab=result")
    table = page.get_by_role("region", name="The result")
    expect(table.get_by_role("row").nth(1)).to_contain_text("0Rome")
    table.get_by_role("button", name="n", exact=True).click()
    table.get_by_role("button", name=re.compile("^n ")).click()
    expect(table.get_by_role("row").nth(1)).to_contain_text("299Oslo")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("101 to 200 of 300 rows")).to_be_visible()


def test_an_operator_sees_what_the_server_needs_and_which_settings_it_has(page: Page) -> None:
    page.goto("/settings")
    limits = page.get_by_role("region", name="Limits of your tenant")
    expect(limits).to_contain_text("100,000,000")
    expect(limits).to_contain_text("60,000 at most")
    checks = page.get_by_role("region", name="Checks")
    expect(checks).to_contain_text("worker search")
    expect(checks).to_contain_text("revision")
    settings = page.get_by_role("region", name="The gateway's settings")
    expect(settings.get_by_role("row", name=re.compile("^DATABASE_URL"))).to_contain_text("not told")
    expect(settings.get_by_role("row", name=re.compile("^ASSAY_BODY_BYTES"))).to_have_count(0)
    settings.get_by_role("button", name="With the defaults").click()
    expect(settings.get_by_role("row", name=re.compile("^ASSAY_BODY_BYTES"))).to_contain_text("default")
