"""What the console shows of the calls of models: who was called, who was not and why, and the outcome."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import Console, Visit
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=5), pytest.mark.timeout(240)]

_ROLE = "execution.transform"
_CHAIN = (("groq", "limited"), ("cerebras", "broken"), ("anthropic", "claude-haiku-5-5"))


@pytest.fixture
def down(console: Console) -> Iterator[list[dict[str, Any]]]:
    """Two jobs of two calls each while the first provider of the chain is limited and the second is broken."""
    with console.api as api:
        try:
            links = [{"provider": provider, "model": model} for provider, model in _CHAIN]
            assert api.put(f"/v1/models/{_ROLE}", json={"chain": links}).status_code == 200
            api.post("/v1/providers/groq/release")  # which other tests may have parked
            first = until(lambda: _job_of_chain(console), "the worker follows the new chain")
            yield [first, _transform(console)]
        finally:
            for provider, _ in _CHAIN:
                api.post(f"/v1/providers/{provider}/release")
            assert api.post("/v1/models/reset").status_code == 200
            until(lambda: _job_of_chain(console) is None, "the worker follows the default chain again")


def _job_of_chain(console: Console) -> dict[str, Any] | None:
    job = _transform(console)
    return job if _calls(console, job)[0]["requested"]["model"] == _CHAIN[0][1] else None


def _transform(console: Console) -> dict[str, Any]:
    return console.run("transform", task="anything", data=[{"name": "data", "csv": "a,b\n1,2\n"}], max_iterations=2)


def _calls(console: Console, job: dict[str, Any]) -> list[dict[str, Any]]:
    with console.api as api:
        return list(api.get(f"/v1/jobs/{job['id']}/llm-calls").json()["items"])


@pytest.mark.alone
def test_providers_that_are_down_are_told_by_the_trail_and_by_their_breakers(
    page: Page, console: Console, down: list[dict[str, Any]]
) -> None:
    first, second = down
    assert first["state"] == second["state"] == "succeeded", "somebody else answered"
    page.goto(f"/jobs/{first['id']}?tab=models")
    turns = page.locator(".trail:has(> .trail)")
    steps = turns.nth(0).locator(".step")
    expect(steps).to_have_text(
        ["groq 429 rate limited", "cerebras 500 server error", re.compile("^anthropic ok .*, \\$")]
    )
    expect(turns.nth(1).locator(".step").first).to_have_text(re.compile("^groq skipped: it requested a pause"))
    calls = page.get_by_label("Every model call").locator("tbody tr")
    expect(calls).to_have_count(len(_calls(console, first)))
    expect(calls.nth(1)).to_contain_text("failover rate limited")
    expect(calls.nth(1)).to_contain_text("server error 500")

    page.goto(f"/jobs/{second['id']}?tab=models")
    steps = turns.nth(1).locator(".step.skipped")
    expect(steps).to_have_text(
        [re.compile("^groq skipped: it requested a pause"), re.compile("^cerebras skipped: it failed too often")]
    )

    page.goto("/models")
    rows = page.get_by_role("region", name="State of the providers").get_by_role("row")
    groq, cerebras, anthropic = (rows.filter(has_text=name).get_by_role("cell") for name, _ in _CHAIN)
    broken = re.compile("^(Unavailable|Recovering)$")  # half open after 30 seconds, on a busy machine
    expect(groq.nth(1)).to_have_text("Rate-limited")
    expect(groq.nth(2)).to_have_text(re.compile("^Rate-limited until in .* rate_limited$"))
    expect(cerebras.nth(1)).to_have_text(broken)
    expect(cerebras.nth(2)).to_contain_text("server_error")
    # Other tests of the last hour may have let it fail, too.
    until(lambda: anthropic.nth(1).inner_text().strip() == _word_for(anthropic), "the word for its calls and errors")
    rows.filter(has_text="groq").get_by_role("button", name="Retry now").click()
    expect(groq.nth(1)).to_have_text(re.compile("^(Failing|Elevated errors)$"))  # as its calls of the last hour
    expect(groq.nth(2)).not_to_contain_text("until")
    expect(cerebras.nth(1)).to_have_text(broken)
    asked = _calls(console, _transform(console))[0]
    assert (asked["requested"]["provider"], asked["outcome"]) == ("groq", "rate_limited"), "it is asked again at once"


def _word_for(cells: Locator) -> str:
    """The state of a provider that is called, by the figures of its row; none while they are not there."""
    calls, errors = (int(cells.nth(column).inner_text().replace(",", "")) for column in (3, 4))
    if calls == 0:
        return "no calls yet"
    return "Failing" if errors > 0.2 * calls else "Elevated errors" if errors >= 0.01 * calls else "Healthy"


def test_usage_is_that_of_each_call_in_the_ledger(console: Console, visit: Visit) -> None:
    mine = console.member("read", "write", tenant="ledger")
    ledger = [call for _ in range(2) for call in _calls(mine, _transform(mine))]
    calls = [call for call in ledger if call["outcome"] != "skipped"]
    assert len(calls) >= 4
    tab = visit(key=mine.key).tab()
    tab.goto("/usage?by=role")
    table = tab.get_by_role("region", name="Sums")
    row = table.get_by_role("row", name=re.compile(f"^{_ROLE}"))
    expect(row).to_be_visible()
    titles = table.get_by_role("columnheader").all_inner_texts()
    shown = dict(zip(titles, row.get_by_role("cell").all_inner_texts(), strict=True))
    assert shown["Calls"] == str(len(calls))
    assert shown["Tokens in"] == f"{sum(call['input_tokens'] for call in calls):,}"
    assert shown["Tokens out"] == f"{sum(call['output_tokens'] for call in calls):,}"
    cost = sum(call["cost_usd"] for call in calls)
    assert float(shown["Cost"].removeprefix("$")) == pytest.approx(cost, abs=0.000_006)  # as it is written
    assert cost > 0
