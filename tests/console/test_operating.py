"""Who operates the installation: chains, usage, queues, keys, settings."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Console, Visit

pytestmark = [pytest.mark.slow(seconds=2), pytest.mark.timeout(240)]


@pytest.mark.alone
def test_a_chain_is_reordered_by_keys_and_by_dragging(page: Page, console: Console) -> None:
    with console.api as api:
        assert api.post("/v1/models/flows.edit/test").json()["ok"]
    page.goto("/models?edit=flows.edit")
    expect(page.get_by_role("img", name=re.compile(r"^[\d,]+ calls; .*p95")).first).to_be_visible()
    role = page.get_by_label("Role flows.edit")
    first = role.get_by_role("listitem").first
    before = first.inner_text()
    role.get_by_role("button", name=re.compile("down$")).first.press("Enter")
    expect(first).not_to_contain_text(before.split("\n")[1])
    role.get_by_role("button", name="Save").press("Enter")
    expect(role.get_by_role("button", name="Save")).to_be_disabled()
    role.get_by_role("button", name="Test", exact=True).press("Enter")
    expect(role.locator("p.callout")).to_contain_text("answered in")
    with console.api as api:
        chain = api.get("/v1/models").json()["roles"]["flows.edit"]
        assert f"{chain[1]['provider']}/{chain[1]['model']}" == before.split("\n")[1]
        models = api.post("/v1/models/reset").json()
    _drags(page, models["roles"]["search.plan"])
    prices = page.get_by_role("region", name="Prices")
    price = next(each for each in models["prices"] if each["input"] is not None)
    row = prices.get_by_role("row").filter(has_text=f"{price['provider']}/{price['model']}").first
    expect(row).to_contain_text(f"${price['input']:.2f}")
    expect(row).to_contain_text(price["as_of"])
    expect(prices.get_by_role("cell", name="–", exact=True).first).to_be_visible()
    expect(prices.get_by_role("cell", name="$0", exact=True)).to_have_count(0)


def _drags(page: Page, chain: list[dict[str, str]]) -> None:
    """The first below the last, and back by the arrow keys; what is not saved is as it was by a click."""
    page.get_by_role("button", name="Edit search.plan").click()
    role = page.get_by_label("Role search.plan")
    rows, handles = role.get_by_role("listitem"), role.get_by_role("button", name=re.compile("^Move .*drag"))
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
    role.get_by_role("button", name="Discard changes").click()
    expect(rows.nth(0)).to_contain_text(first)
    expect(role.get_by_role("button", name="Save")).to_be_disabled()


def test_usage_tells_sources_apart_and_who_answered(console: Console, visit: Visit) -> None:
    console = console.member("read", "write", tenant="usage")
    data = [{"name": "data", "csv": "a,b\n1,2\n"}]
    console.run("transform", task="anything", data=data, max_iterations=2)
    page = visit(key=console.key).tab()
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
    expect(page.get_by_text("No jobs in this period")).to_be_visible()
    expect(page).to_have_url(re.compile("source=replay.*rows=time|rows=time.*source=replay"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text().startswith("at,group,jobs,succeeded,failed,turns_p50,turns_mean,turns_jobs")


@pytest.mark.alone
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
    used = next(each for each in tenants if each["group"] == console.tenant)
    tenant = page.get_by_role("region", name="Tenants").get_by_role("row", name=re.compile(f"^{console.tenant}"))
    expect(tenant).to_contain_text(f"{used['input_tokens'] + used['output_tokens']:,}")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("checkbox", name=re.compile("^tenant_admin"))).to_be_visible()
    dialog.get_by_label("Name").fill("for a test")
    dialog.get_by_role("button", name="Create key").click()
    expect(dialog.get_by_role("button", name="Copy", exact=True).first).to_be_visible()
    expect(dialog.locator("pre")).to_contain_text(f"curl -s {console.url}/v1/jobs")
    key = dialog.locator("code.secret").inner_text()
    dialog.get_by_role("button", name="Done").click()
    with console.api as api:
        api.headers["Authorization"] = f"Bearer {key}"
        session = api.get("/v1/session").json()
        assert session["name"] == "for a test"
        row = page.get_by_role("row", name=session["key_id"])
        row.get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Rotate…").click()
        dialog.get_by_role("combobox", name="Old key stays valid").click()
        page.get_by_role("option", name="For 1 hour").click()
        dialog.get_by_role("button", name="Rotate for a test").click()
        new = dialog.locator("code.secret").inner_text()
        assert api.get("/v1/session", headers={"Authorization": f"Bearer {new}"}).json()["name"] == "for a test"
        ends = datetime.fromisoformat(api.get("/v1/session").json()["expires_at"])
        assert timedelta(minutes=55) < ends - datetime.now(UTC) <= timedelta(hours=1)
        dialog.get_by_role("button", name="Done").click()
        row.get_by_role("button", name="Actions for").click()
        page.get_by_role("menuitem", name="Revoke…").click()
        page.get_by_role("button", name="Revoke for a test").click()
        expect(row).to_contain_text("Revoked")
        assert api.get("/v1/session").status_code == 401
    reader = visit(key=None)
    assert reader.complaints == []


def test_who_administers_a_tenant_has_its_keys_and_no_others(console: Console, visit: Visit) -> None:
    chief = console.member("read", "write", "tenant_admin", tenant="shop")
    page = visit(key=chief.key).tab()
    page.goto("/jobs")
    page.get_by_role("navigation").get_by_role("link", name="Keys").click()
    rows = page.get_by_role("region", name="Keys").locator("tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Tenant")).not_to_be_editable()
    expect(dialog.get_by_role("checkbox", name=re.compile("^tenant_admin"))).to_be_visible()
    expect(dialog.get_by_role("checkbox", name=re.compile("^admin"))).to_have_count(0)
    dialog.get_by_label("Name").fill("for the till")
    dialog.get_by_role("button", name="Create key").click()
    expect(dialog.locator("code.secret")).to_be_visible()
    dialog.get_by_role("button", name="Done").click()
    expect(rows).to_have_count(2)
    made = rows.filter(has_text="for the till")
    expect(made).to_contain_text("shop")
    made.get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Revoke…").click()
    page.get_by_role("button", name="Revoke for the till").click()
    expect(made).to_contain_text("Revoked")
    writer = visit(key=console.member("read", "write", tenant="shop").key).tab()
    writer.goto("/jobs")
    expect(writer.get_by_role("navigation").get_by_role("link", name="Usage")).to_be_visible()
    expect(writer.get_by_role("navigation").get_by_role("link", name="Keys")).to_have_count(0)


def test_an_operator_sees_what_the_server_needs_and_which_settings_it_has(page: Page) -> None:
    page.goto("/settings")
    checks = page.get_by_role("region", name="Checks")
    expect(checks).to_contain_text("worker search")
    expect(checks).to_contain_text("revision")
    settings = page.get_by_role("region", name="The gateway's settings")
    expect(settings.get_by_role("row", name=re.compile("^DATABASE_URL"))).to_contain_text("Hidden")
    expect(settings.get_by_role("row", name=re.compile("^ASSAY_BODY_BYTES"))).to_have_count(0)
    settings.get_by_role("button", name="Show defaults").click()
    expect(settings.get_by_role("row", name=re.compile("^ASSAY_BODY_BYTES"))).to_contain_text("default")


def test_an_administrator_sets_the_limits_of_a_tenant_and_the_log_says_so(console: Console, visit: Visit) -> None:
    page = visit("422").tab()
    page.goto("/settings?tab=limits&tenant=frugal-shop")
    limits = page.get_by_role("region", name="Limits of frugal-shop")
    expect(limits.get_by_role("row", name=re.compile("^Requests a minute"))).to_contain_text("60,000")
    limits.get_by_role("spinbutton", name=re.compile("^Storage,")).fill("2.5")
    limits.get_by_role("spinbutton", name=re.compile("^Weight,")).fill("0")
    limits.get_by_role("button", name="Save limits").click()
    expect(limits.get_by_role("spinbutton", name=re.compile("^Weight,"))).to_have_attribute("aria-invalid", "true")
    limits.get_by_role("spinbutton", name=re.compile("^Weight,")).fill("")
    limits.get_by_role("button", name="Save limits").click()
    expect(limits.get_by_role("status")).to_contain_text("The limits are saved.")
    with console.api as api:
        told = api.get("/v1/tenants/frugal-shop/limits").json()["quotas"]
        assert (told["storage_bytes"]["own"], told["queued_jobs"]["own"]) == (2_500_000_000, None)
    page.get_by_role("tab", name="Audit log").click()
    log = page.get_by_role("region", name="Audit log")
    log.get_by_label("Action").fill("limits.set")
    log.get_by_role("button", name="Filter").click()
    entry = log.get_by_role("row").filter(has_text="frugal-shop").first
    entry.get_by_role("button", name=re.compile("^Details of entry")).click()
    expect(log.locator("tr.opened").first).to_contain_text("2500000000")
    log.get_by_role("button", name="Verify log").click()
    expect(log.get_by_role("status")).to_contain_text("are as they were written")


def test_webhook_secrets_are_added_shown_and_deleted(console: Console, visit: Visit) -> None:
    shop = console.member("read", "write", tenant="hooks")
    page = visit("422", key=shop.key).tab()
    page.goto("/settings")
    expect(page.get_by_role("tab", name="Audit log")).to_have_count(0)
    page.get_by_role("tab", name="Limits").click()
    expect(page.get_by_role("region", name="Limits of your tenant")).to_contain_text("60,000 at most")
    page.get_by_role("tab", name="Webhooks").click()
    page.get_by_role("button", name="Add secret").click()
    page.get_by_role("dialog").get_by_role("button", name="Add secret").click()
    rows = page.get_by_role("region", name="Secrets").locator("tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Add secret").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Use my own").click()
    dialog.get_by_label("Own secret").fill("whsec_short")
    dialog.get_by_role("button", name="Add secret").click()
    expect(dialog).to_contain_text("24 to 64 random bytes")
    dialog.get_by_label("Own secret").fill(f"whsec_{'QUJD' * 8}")
    dialog.get_by_role("button", name="Add secret").click()
    expect(rows).to_have_count(2)
    expect(page.get_by_role("button", name="Add secret")).to_be_disabled()
    own = rows.nth(1)
    expect(own).not_to_contain_text("QUJD")
    own.get_by_role("button", name=re.compile("^Show secret")).click()
    expect(own).to_contain_text(f"whsec_{'QUJD' * 8}")
    rows.nth(0).get_by_role("button", name=re.compile("^Delete secret")).click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete secret").click()
    expect(rows).to_have_count(1)
    with console.api as api:
        api.headers["Authorization"] = f"Bearer {shop.key}"
        assert [each["secret"] for each in api.get("/v1/webhooks/secrets").json()["items"]] == [f"whsec_{'QUJD' * 8}"]
