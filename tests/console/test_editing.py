"""What people change in the console: flows by keys alone, the words of prompts, a search that found nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.assay.terminal import written
from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console, Visit
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=3), pytest.mark.timeout(240)]

PROMPT = "documents.instruction"


@pytest.fixture
def flow(console: Console) -> Iterator[str]:
    """The id of a flow of two nodes."""
    with console.api as api:
        body = {"format": "mermaid", "text": "flowchart LR\n  a[Cart] --> b[Payment]\n", "name": "By keys"}
        made = api.post("/v1/flows/import", json=body).json()
        yield made["id"]
        api.delete(f"/v1/flows/{made['id']}")


def test_a_flow_is_edited_by_keys_alone(page: Page, console: Console, flow: str) -> None:
    def saved() -> dict[str, dict[str, float]]:
        with console.api as api:
            nodes = api.get(f"/v1/flows/{flow}").json()["nodes"]
        return {node["data"]["label"]: node["position"] for node in nodes}

    page.goto(f"/flows/{flow}")
    nodes = page.locator(".react-flow__node")
    expect(nodes).to_have_count(2)
    before = saved()
    page.keyboard.press("n")
    page.keyboard.type("Refund")
    page.keyboard.press("Enter")
    expect(nodes).to_have_count(3)
    assert sorted(saved()) == ["Cart", "Payment", "Refund"]

    _tab_to(page, "/^Cart/.test(document.activeElement.getAttribute('aria-label') ?? '')")
    page.keyboard.press("Enter")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "Cart, leads to Payment"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "Payment"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == "Cart, leads to Payment"
    for _ in range(3):
        page.keyboard.press("Alt+ArrowDown")
    expect(page.get_by_text("version 3", exact=True)).to_be_visible()
    assert saved()["Cart"]["y"] > before["Cart"]["y"], "a move by keys is saved"
    done = page.get_by_role("status", name="What was done")
    expect(done).to_have_text("Moved Cart")

    page.keyboard.press("l")
    page.keyboard.type("Refund")
    page.keyboard.press("Enter")
    expect(page.locator(".react-flow__edge")).to_have_count(2)
    expect(done).to_have_text("Linked Cart to Refund")

    page.locator(".react-flow__edge").last.press("Enter")
    expect(page.locator(".react-flow__edge.selected")).to_have_count(1)
    page.keyboard.press("F2")
    page.get_by_role("textbox", name="Words on the link").fill("too late")
    page.keyboard.press("Enter")
    expect(page.locator(".link-words", has_text="too late")).to_be_visible()
    expect(done).to_have_text(re.compile("^Wrote too late on the link Cart › "))
    page.locator(".react-flow__node", has_text="Cart").focus()
    page.keyboard.press("Enter")

    _tab_to(page, "document.activeElement.title === 'Color'")
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Teal").press("Enter")
    expect(page.locator(".react-flow__node", has_text="Cart").locator(".node")).to_have_css(
        "background-color", "rgb(201, 236, 230)"
    )

    _tab_to(page, "/^Payment/.test(document.activeElement.getAttribute('aria-label') ?? '')")
    page.keyboard.press("Enter")
    page.keyboard.press("Delete")
    expect(nodes).to_have_count(2)
    expect(done).to_have_text("Deleted Payment")
    assert sorted(saved()) == ["Cart", "Refund"]
    assert str(page.evaluate(focused)).startswith("Cart"), "one goes on beside what is gone"


def test_a_group_is_folded_and_unfolded_on_the_canvas(page: Page, console: Console, flow: str) -> None:
    with console.api as api:
        nodes = [node["id"] for node in api.get(f"/v1/flows/{flow}").json()["nodes"]]
        calls = [{"name": "createGroup", "params": {"memberIds": nodes, "label": "Shop"}}]
        assert api.post(f"/v1/flows/{flow}/operations", json={"tool_calls": calls}).json()["success"]
    page.goto(f"/flows/{flow}")
    boxes = page.locator(".react-flow__node")
    expect(boxes).to_have_count(1)
    page.get_by_role("button", name="Unfold Shop").press("Enter")
    expect(boxes).to_have_count(3)
    expect(page.locator(".react-flow__edge")).to_have_count(1)
    page.get_by_role("button", name="Fold Shop").click()
    expect(boxes).to_have_count(1)
    with console.api as api:
        saved = api.get(f"/v1/flows/{flow}").json()["nodes"]
    assert sorted(node.get("hidden", False) for node in saved) == [False, True, True]
    boxes.first.press("Enter")
    page.get_by_role("button", name="Ungroup").click()
    expect(boxes).to_have_count(2)
    boxes.first.press("Enter")
    boxes.last.press("Control+Enter")
    page.get_by_role("button", name="Group (Ctrl G)").last.click()
    page.get_by_label("Name of the group").fill("Again")
    page.keyboard.press("Enter")
    expect(boxes).to_have_count(3)
    expect(page.get_by_role("status", name="What was done")).to_have_text("Grouped 2 nodes as Again")


def _tab_to(page: Page, condition: str) -> None:
    """Press Tab until what has the focus fulfils the condition."""
    for _ in range(120):
        if page.evaluate(condition):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab reaches nothing with {condition}")


@pytest.mark.alone
def test_a_prompt_is_published_refused_without_its_variables_and_rolled_back(page: Page, console: Console) -> None:
    def current() -> tuple[int, str]:
        with console.api as api:
            prompt = api.get(f"/v1/prompts/{PROMPT}").json()
        return prompt["version"], prompt["text"]

    first, text = current()
    page.goto("/prompts")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=PROMPT, exact=True))
    expect(row.get_by_role("cell").nth(1)).to_have_text(re.compile(r"^[\w-]+/"))
    row.get_by_role("link", name=PROMPT, exact=True).click()
    editor = page.locator(".cm-content")
    publish = page.get_by_role("button", name="Publish")
    expect(publish).to_be_disabled()
    editor.fill("No variable is left.")
    expect(page.get_by_role("alert").first).to_contain_text("type")
    expect(publish).to_be_disabled()
    editor.fill(f"Be brief.\n{text}")
    expect(page.get_by_label("Differences").locator(".add").first).to_contain_text("Be brief.")
    page.get_by_label("Change note").fill("It says too much.")
    publish.click()
    expect(page.get_by_text(f"version {first + 1} in use")).to_be_visible()
    assert current()[1].startswith("Be brief.")
    versions = page.get_by_role("region", name="Versions", exact=True)
    newest = versions.locator("tbody tr").first
    expect(newest).to_contain_text("It says too much.")
    expect(newest).to_contain_text("No jobs yet")
    page.get_by_label("Name for a version").fill("brief")
    page.get_by_role("button", name="Save name").click()
    expect(newest.get_by_text("brief", exact=True)).to_be_visible()
    page.get_by_role("button", name="Remove brief").click()
    expect(page.get_by_role("button", name="Remove brief")).to_have_count(0)
    difference = page.get_by_label("Difference of two versions")
    expect(difference.locator(".add").first).to_contain_text("Be brief.")
    restore = versions.get_by_role("button", name=re.compile("^Restore version")).first
    question = page.get_by_role("alertdialog")
    restore.click()
    question.get_by_role("button", name="Cancel").click()
    expect(question).to_have_count(0)
    assert current()[1].startswith("Be brief."), "nothing is restored before the question is answered"
    restore.click()
    question.get_by_role("button", name=re.compile("^Restore version ")).click()
    expect(page.get_by_text(re.compile(rf"^version (?!{first + 1}\b)\d+ in use"))).to_be_visible()
    assert current()[1] == text
    with console.api as api:
        assert api.post(f"/v1/prompts/{PROMPT}/reset").status_code == 200


@pytest.mark.alone
def test_a_draft_of_a_prompt_is_kept_tried_published_and_followed(page: Page, console: Console) -> None:
    with console.api as api:
        before = api.get(f"/v1/prompts/{PROMPT}").json()
    page.goto(f"/prompts/{PROMPT}")
    editor = page.locator(".cm-content")
    editor.fill(f"In one word.\n{before['text']}")
    page.get_by_label("Change note").fill("Shorter.")
    page.get_by_role("link", name="Models", exact=True).click()
    expect(page.get_by_role("heading", name="Models", exact=True)).to_be_visible()
    page.get_by_role("link", name="Prompts", exact=True).click()
    page.get_by_role("link", name=PROMPT, exact=True).click()
    expect(editor).to_contain_text("In one word.")
    expect(page.get_by_text("draft, not published")).to_be_visible()
    page.get_by_role("button", name="Discard draft").click()
    expect(editor).not_to_contain_text("In one word.")
    editor.fill(f"In one word.\n{before['text']}")
    page.reload()
    expect(editor).to_contain_text("In one word.")
    page.get_by_label("User message").fill("Is this short?")
    for name in before["variables"]["required"]:
        page.get_by_label(name, exact=True).fill("x")
    page.get_by_role("button", name="Run test").click()
    expect(page.get_by_role("region", name="What the model answered")).to_contain_text("tokens in")
    with console.api as api:
        assert api.get(f"/v1/prompts/{PROMPT}").json()["version"] == before["version"], "a trial publishes nothing"
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text(f"version {before['version'] + 1} in use")).to_be_visible()
    expect(page.get_by_text("draft, not published")).to_have_count(0)
    with console.api as api:
        published = api.get(f"/v1/prompts/{PROMPT}").json()
        assert _asked_with(console, published) == published["version"]
        assert api.post(f"/v1/prompts/{PROMPT}/reset").status_code == 200


def _asked_with(console: Console, published: dict[str, Any]) -> int:
    """The version of the prompt that a worker uses two seconds later at most: by then all know of the new one."""
    since = datetime.fromisoformat(published["updated_at"]) + timedelta(seconds=2)
    while True:
        job = console.run("document", markdown="::: describe Anything :::\n")
        with console.api as api:
            (call,) = api.get(f"/v1/jobs/{job['id']}/llm-calls").json()["items"]
        version = int(call["prompt"]["version"])
        if version == published["version"] or datetime.fromisoformat(job["started_at"]) > since:
            return version


@pytest.mark.alone
def test_two_versions_of_a_prompt_are_shown_when_somebody_else_published_meanwhile(
    visit: Visit, console: Console
) -> None:
    def publish(text: str) -> None:
        with console.api as api:
            assert api.put(f"/v1/prompts/{PROMPT}", json={"text": text, "note": "from elsewhere"}).status_code == 200

    with console.api as api:
        text = api.get(f"/v1/prompts/{PROMPT}").json()["text"]
    page = visit("412").tab()
    page.goto(f"/prompts/{PROMPT}")
    editor = page.locator(".cm-content")
    button = page.get_by_role("button", name="Publish")
    both = page.get_by_role("alert", name="Another user saved meanwhile")
    editor.fill(f"Mine.\n{text}")
    publish(f"Theirs.\n{text}")
    button.click()
    expect(both.get_by_label("Differences").locator(".del")).to_contain_text("Theirs.")
    expect(both.get_by_label("Differences").locator(".add")).to_contain_text("Mine.")
    expect(both).to_contain_text("from elsewhere")
    expect_accessible_as_it_is(page, "two versions of a prompt")
    both.get_by_role("button", name="Keep editing").click()
    expect(both).to_have_count(0)
    expect(editor).to_contain_text("Mine.")
    button.click()
    both.get_by_role("button", name="Take theirs").click()
    expect(editor).to_contain_text("Theirs.")
    expect(button).to_be_disabled()
    editor.fill(f"Mine after all.\n{text}")
    publish(text)
    button.click()
    both.get_by_role("button", name="Save mine over it").click()
    expect(button).to_be_disabled()
    with console.api as api:
        assert api.get(f"/v1/prompts/{PROMPT}").json()["text"].startswith("Mine after all.")
    for name, do in (("Reset to default", "Take theirs"), ("Restore", "Save mine over it")):
        publish(f"Theirs, before {name}.\n{text}")
        page.get_by_role("button", name=name).first.click()
        if name == "Restore":
            page.get_by_role("alertdialog").get_by_role("button", name=re.compile("^Restore version ")).click()
        expect(both.get_by_label("Differences").locator(".del")).to_contain_text(f"Theirs, before {name}.")
        both.get_by_role("button", name=do).click()
        expect(both).to_have_count(0)
        expect(editor).to_contain_text("Theirs, before Reset" if do == "Take theirs" else "Mine after all.")
    with console.api as api:
        assert api.get(f"/v1/prompts/{PROMPT}").json()["text"].startswith("Mine after all.")
        assert api.post(f"/v1/prompts/{PROMPT}/reset").status_code == 200


@pytest.mark.alone
def test_two_versions_of_a_chain_are_shown_when_somebody_else_saved_it_meanwhile(
    visit: Visit, console: Console
) -> None:
    def put(role: str, *models: str) -> None:
        chain = [{"provider": "groq", "model": model} for model in models]
        with console.api as api:
            assert api.put(f"/v1/models/{role}", json={"chain": chain}).status_code == 200

    def saved() -> list[str]:
        with console.api as api:
            return [link["model"] for link in api.get("/v1/models").json()["roles"]["flows.edit"]]

    put("flows.edit", "one", "two")
    page = visit("412").tab()
    page.goto("/models?edit=flows.edit")
    role = page.get_by_label("Role flows.edit")
    links, save = role.get_by_role("listitem"), role.get_by_role("button", name="Save", exact=True)
    both = role.get_by_role("alert", name="Another user saved meanwhile")
    role.get_by_role("button", name=re.compile("down$")).first.press("Enter")
    put("flows.edit", "three", "one")
    save.click()
    expect(both.get_by_label("Differences").locator(".del")).to_contain_text("groq/three")
    expect(both.get_by_label("Differences").locator(".add")).to_contain_text("groq/two")
    both.get_by_role("button", name="Take theirs").click()
    expect(links.first).to_contain_text("groq/three")
    expect(save).to_be_disabled()
    role.get_by_role("button", name=re.compile("down$")).first.press("Enter")
    put("search.plan", "of another role")
    save.click()
    expect(save).to_be_disabled()
    expect(both).to_have_count(0)
    until(lambda: saved() == ["one", "three"], "what others did to another role is not in the way")
    with console.api as api:
        api.post("/v1/models/reset")


def test_two_versions_of_the_rules_are_shown_when_somebody_else_saved_them_meanwhile(
    visit: Visit, console: Console
) -> None:
    def rules(name: str) -> str:
        return f"definitions:\n  - {{id: acme, kind: framework, name: {name}, files: [acme.toml]}}\n"

    def put(name: str) -> int:
        with console.api as api:
            body = {"yaml": rules(name), "note": "from elsewhere"}
            return int(api.put("/v1/stacks/definitions", json=body).json()["version"])

    first = put("First")
    page = visit("412").tab()
    page.goto(f"/detect?rules={first}")
    editor = page.locator(".cm-content")
    both = page.get_by_role("alert", name="Another user saved meanwhile")
    expect(editor).to_contain_text("First")
    editor.fill(rules("Mine"))
    page.get_by_label("Change note").fill("It is ours.")
    put("Theirs")
    page.get_by_role("button", name=re.compile("^Save as version")).click()
    expect(both).to_contain_text(re.compile(f"Version {first + 1} by key .*: from elsewhere"))
    expect(both.get_by_label("Differences").locator(".del")).to_contain_text("Theirs")
    expect(both.get_by_label("Differences").locator(".add")).to_contain_text("Mine")
    both.get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_text(f"Version {first + 2}.")).to_be_visible()
    expect(page.get_by_role("region", name="Versions of the rules")).to_contain_text("It is ours.")
    put("Theirs again")
    page.get_by_role("button", name=f"Restore version {first}").click()
    expect(both.get_by_label("Differences").locator(".del")).to_contain_text("Theirs again")
    expect(both.get_by_label("Differences").locator(".add")).to_contain_text("First")
    both.get_by_role("button", name="Take theirs").click()
    expect(editor).to_contain_text("Theirs again")
    with console.api as api:
        api.delete("/v1/stacks/definitions")


@pytest.fixture(scope="module")
def sessions(console: Console) -> str:
    """A collection of talks, of which none is about the web."""
    tables = {"talks": {"facets": {"topic": 1.0}, "fields": {"track": "keyword", "year": "integer"}}}
    record: Callable[[int], dict[str, object]] = lambda number: {  # noqa: E731
        "id": f"t{number}", "name": f"Talk {number}", "text": "Tuning a Postgres vacuum",
        "facets": {"topic": "Tuning a Postgres vacuum"}, "fields": {"track": "databases", "year": 2020 + number},
    }  # fmt: skip
    written(console.shell, "tables.json", json.dumps(tables))
    written(console.shell, "talks.jsonl", "".join(f"{json.dumps(record(number))}\n" for number in range(4)))
    for words in (("collection", "create", "talks", "tables.json"), ("ingest", "talks", "talks", "talks.jsonl")):
        ran = console.shell(*words)
        assert ran.status == 0, ran.talk
    return "talks"


def test_a_search_whose_filter_keeps_everything_out_says_why_and_runs_without_it(
    page: Page, console: Console, sessions: str
) -> None:
    asked = {"answer": False, "reflection": False, "plan": [{"table": "talks", "query_text": "postgres vacuum"}]}
    empty = console.run("search", collection=sessions, question="postgres vacuum", filters={"track": "web"}, **asked)
    assert sum(query["hits"] for query in empty["result"]["attempts"][0]["queries"]) == 0
    page.goto(f"/search?job={empty['id']}")
    why = page.get_by_role("region", name="Why nothing was found")
    expect(why).to_contain_text("track = web")
    page.get_by_role("link", name="1st query: 0 hits").click()
    expect(page).to_have_url(re.compile("#how-it-was-searched$"))
    # The caller's own filter holds: no search runs without it until the user starts one.
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("1st query: 0 hits")
    assert len(empty["result"]["attempts"]) == 1
    expect(why).to_contain_text(re.compile("Without the filter track = web in talks: [1-9]\\d* hits?"))
    why.get_by_role("button", name="Run without it").first.click()
    expect(page).not_to_have_url(re.compile(empty["id"]))
    expect(page.get_by_role("region", name="Hits in talks")).to_contain_text("Talk 1")
    found = console.job(page)
    assert found["id"] != empty["id"]
    assert "track" not in found["input"].get("filters", {})
    assert [hit["label"] for hit in found["result"]["hits"]["talks"]] == ["exact"] * 4
    expect(why).to_have_count(0)
    page.get_by_role("button", name="History").click()
    tried = page.get_by_role("region", name="Queries of past searches").locator("tbody tr")
    expect(tried.first).to_contain_text("1st query")
    assert tried.first.get_by_role("cell").all_inner_texts()[:4] == ["postgres vacuum", "1st query", "4", "4"]
    searches = page.get_by_role("region", name="Past searches")
    expect(searches.get_by_role("row").nth(1)).not_to_contain_text("Not found")
    expect(searches.get_by_role("row").nth(2)).to_contain_text("Not found")
    page.get_by_role("button", name=re.compile("^Collections")).click()
    page.locator("summary", has_text="Records").last.click()
    records = page.get_by_role("region", name="Records of the table")
    expect(records.locator("tbody tr")).to_have_count(4)
    expect(records).to_contain_text("Tuning a Postgres vacuum")
    expect(page.get_by_text("1 to 4 of 4")).to_be_visible()
    listed = console.shell("collection", "records", sessions, "talks", "--limit", "3")
    assert (listed.status, listed.out.count("Tuning a Postgres vacuum")) == (0, 3), listed.talk
    assert "3 of 4 records; more: --after" in listed.talk


def test_each_plan_of_a_search_is_a_difference_to_the_one_before_and_a_way_on(
    page: Page, console: Console, sessions: str
) -> None:
    plan = [{"table": "talks", "query_text": "postgres vacuum"}]
    asked = {"answer": False, "reflection": False, "relax_filters": True, "filters": {"track": "web"}, "plan": plan}
    job = console.run("search", collection=sessions, question="postgres vacuum", **asked)
    page.goto(f"/jobs/{job['id']}?tab=attempts")
    second = page.get_by_label("Attempt 2", exact=True)
    expect(second.locator(".callout.bad")).to_contain_text("talks: no hits")
    expect(second.locator(".callout.bad")).to_contain_text("4 without")
    expect(second.locator(".ln.del")).to_contain_text('filter track = "web"')
    second.get_by_role("button", name="Branch from here").click()
    expect(page).to_have_url(re.compile("/search\\?job="))
    expect(page.get_by_label("Text of query 1")).to_have_value("postgres vacuum")
    found = console.job(page)
    assert [query["filters"] for query in found["input"]["plan"]] == [{}]


def test_queries_are_edited_with_their_filters_and_the_ladder_says_what_it_changed(
    page: Page, console: Console, sessions: str
) -> None:
    asked = {"answer": False, "reflection": False, "plan": [{"table": "talks", "query_text": "postgres vacuum"}]}
    past = console.run(
        "search", collection=sessions, question="postgres vacuum", filters={"track": "web"}, relax_filters=True, **asked
    )
    page.goto(f"/search?job={past['id']}")
    ladder = page.get_by_role("region", name="Attempts")
    expect(ladder).to_contain_text("1st query: 0 hits → automatic retry: 4 hits")
    changed = ladder.get_by_role("list", name="What the queries changed")
    expect(changed).to_contain_text("since attempt 1:")
    expect(changed.locator("del")).to_have_text("web")
    expect(changed).to_contain_text("- filter track")
    expect(page.get_by_label("Allow dropping filters on retry")).to_be_checked()

    ladder.get_by_role("button", name="Edit these queries of attempt 2").click()
    page.get_by_label("Text of query 1").fill("tuning")
    page.get_by_label("Add a filter of query 1").select_option("year")
    year = page.get_by_role("textbox", name="Filter year of query 1")
    year.fill("soon")
    expect(year).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text(re.compile(r"^Write 5, or"))).to_be_visible()
    year.fill("2020..2021")
    expect(year).to_have_attribute("aria-invalid", "false")
    page.get_by_role("textbox", name="Filter track", exact=True).fill("")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page).not_to_have_url(re.compile(past["id"]))
    expect(page.get_by_role("region", name="Hits in talks").locator(".hit")).to_have_count(2)
    (query,) = console.job(page)["input"]["plan"]
    assert (query["query_text"], query["filters"]) == ("tuning", {"year": {"gte": 2020, "lte": 2021}})


def test_two_wordings_of_a_question_are_searched_side_by_side(page: Page, console: Console, sessions: str) -> None:
    asked = {"answer": False, "reflection": False, "plan": [{"table": "talks", "query_text": "vacuum", "limit": 2}]}
    opened = console.run("search", collection=sessions, question="postgres vacuum", **asked)
    page.goto(f"/search?job={opened['id']}")
    expect(page.get_by_label("Question")).to_have_value("postgres vacuum")
    page.get_by_label("Let the model rewrite queries").uncheck()
    page.get_by_label("Write an answer").uncheck()
    page.get_by_label("Alternative wording").fill("tuning a database")
    page.get_by_role("button", name="Search for both").click()
    both = page.get_by_role("region", name="Two wordings")
    expect(both).to_contain_text("tuning a database")
    rows = both.locator("tbody tr")
    expect(rows.first).to_be_visible()
    with console.api as api:
        second = api.get(f"/v1/jobs/{parse_qs(urlsplit(page.url).query)['second'][0]}").json()
    assert second["input"]["question"] == "tuning a database"
    assert "plan" not in second["input"], "the edited queries are those of the first wording"
    hits = {str(hit["id"]) for job in (console.job(page), second) for hit in job["result"]["hits"]["talks"]}
    expect(rows).to_have_count(len(hits))
    page.get_by_label("Alternative wording").fill("")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(both).to_have_count(0)


def test_a_prompt_is_tried_on_the_words_of_a_job(page: Page, console: Console) -> None:
    data = [{"name": "d", "csv": "city,n\nOslo,1\nRome,2\nOslo,3\n"}]
    task = "One row per month: the mean adjusted close, the number of trading days, and the total volume"
    with console.api as api:
        input = {"task": task, "data": data}
        body = {"kind": "transform", "input": input, "budget": {"turns": 1}}
        job = api.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    page.goto(f"/jobs/{job['id']}?tab=models")
    page.get_by_role("button", name="View messages of call 1", exact=True).click()
    words = page.get_by_role("region", name=re.compile("Messages of call"))
    expect(words.locator("summary").first).to_contain_text("system")
    expect(words).to_contain_text(task)
    words.get_by_role("link", name=re.compile("Try another text")).click()
    expect(page.get_by_role("combobox", name="Replay with job")).to_have_value(re.compile(job["id"][-6:]))
    page.get_by_role("button", name="Run test").click()
    answer = page.get_by_role("region", name="What the model answered")
    expect(answer).to_contain_text(re.compile(r"Version \d+ \(actual\) vs draft"))
    expect(answer).to_contain_text("tokens in")


@pytest.mark.alone
def test_a_job_is_replayed_with_another_version_of_its_prompt(page: Page, console: Console) -> None:
    job = console.run("transform", task="Total amount by city", data=[{"name": "data", "csv": "city,amount\nOslo,2\n"}])
    with console.api as api:
        text = api.get("/v1/prompts/execution.transform").json()["text"]
        draft = {"text": f"Be brief.\n{text}", "use": False, "note": "a brief one"}
        version = api.put("/v1/prompts/execution.transform", json=draft).json()["version"]
    page.goto(f"/jobs/{job['id']}?replay=1")
    page.get_by_role("combobox", name="Version of the prompt").click()
    page.get_by_role("option", name=f"version {version} · a brief one").click()
    page.get_by_label("Replay").get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Retry of")).to_be_visible()
    expect(page.locator(".chips .state.good")).to_be_visible()
    with console.api as api:
        calls = api.get(f"/v1/jobs/{console.job(page)['id']}/llm-calls").json()["items"]
    assert {call["prompt"]["version"] for call in calls} == {version}
