"""Every kind with a model of 2,048 tokens: prompts fit, what they leave out is reported, and jobs end well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from assay import Client
from assay._sync.job import Job
from assay.calls import flows, rest
from assay.calls.jobs import SubmitOptions
from assay.transport import find_target
from tests.assay.terminal import Shell, plain
from tests.support.scripted import ScriptedLlm, started
from tests.support.wait import until

WINDOW = 2048
SALES = "region,amount\nnorth,2\nsouth,3\nnorth,4\nwest,1\n"
SUM = "```python\nresult = data.groupby('region', as_index=False)['amount'].sum()\n```"
SUM_IN_SQL = "SELECT region, sum(amount) AS amount FROM data GROUP BY region"
ADDED = """<thinking>A step.</thinking>
<response>[{"type": "tool_use", "id": "1", "name": "addNode", "input": {"label": "Review"}}]</response>"""
RULES: list[Any] = [
    {"when": {"last": "^HOLD$"}, "fault": "hang"},
    {"when": {"role": "execution.transform", "turn": 1}, "reply": SUM},
    {"when": {"role": "execution.transform"}, "reply": f"DONE\n```sql check\n{SUM_IN_SQL}\n```"},
    {"when": {"role": "documents.instruction"}, "reply": "A ship sails."},
    {"when": {"role": "flows.edit"}, "reply": ADDED},
    {
        "when": {"role": "search.plan"},
        "reply": {"json": {"queries": [{"table": name, "query_text": "queues"} for name in ("talks", "notes")]}},
    },
    {
        "when": {"role": "search.answer"},
        "reply": {"json": {"sentences": [{"text": "Queues.", "citations": [{"table": "talks", "id": "1"}]}]}},
    },
    {"when": {"role": "search.*"}, "reply": {"json": {}}},
    {"when": {"role": "stacks.identify"}, "reply": {"json": {"identifications": []}}},
    {"reply": "ready"},
]


@dataclass(frozen=True)
class Small:
    """An installation whose only model has a small window."""

    client: Client
    model: ScriptedLlm

    def of(self, tenant: str) -> Client:
        key = self.client.keys.create(tenant, "test", ["read", "write"]).key
        return Client(self.client.target.url, key, timeout=60)

    def play(self, **script: Any) -> None:
        served = {"kind": "llama.cpp", "models": ["small"], "window": WINDOW, "tokenizes": True, "slots": 1}
        self.model.play(*RULES, server=served, **script)

    def slot(self) -> HTTPConnection:
        """The model's only slot is taken until this is closed."""
        address = urlsplit(self.model.base_url("openai"))
        connection = HTTPConnection(address.netloc, timeout=60)
        body = {"model": "small", "messages": [{"role": "user", "content": "HOLD"}]}
        connection.request("POST", f"{address.path}/chat/completions", json.dumps(body))
        until(lambda: len(self.model.requests()) == 1, "the slot")
        return connection

    def ended(self, job: Job[Any]) -> Mapping[str, Any]:
        """Return the result of a job that requested nothing that does not fit, and was refused nothing."""
        view = job.wait(120)
        assert view.state.value == "succeeded", view.error
        assert {call.outcome for call in job.llm_calls().items} <= {"ok", "skipped"}
        for request in self.model.requests():
            prompt = sum(map(len, request["messages"])) // 4
            assert prompt + request["body"]["max_tokens"] <= WINDOW
        return dict(view.result or {})

    def left_out(self, job: Job[Any]) -> list[str]:
        """By its events; its warnings say the same."""
        events = [event.data for event in job.events() if event.type == "prompt_shortened"]
        told = list(dict.fromkeys(words for data in events for words in data["left_out"]))
        warnings = " ".join(job.view.warnings)
        assert all(words in warnings for words in told)
        return told


@pytest.fixture(scope="module")
def installed(servers_folder: Path) -> Iterator[Small]:
    folder = servers_folder / "small"
    folder.mkdir()
    process, url = started()
    model = ScriptedLlm(url)
    environment = {**plain(), "ASSAY_HOME": str(folder / "home"), "OPENAI_BASE_URL": model.base_url("openai")}
    environment |= {"XDG_STATE_HOME": str(folder / "state"), "ASSAY_CONSOLE": "off"}
    shell = Shell(folder, environment)
    Small.play(Small(None, model))  # type: ignore[arg-type]
    try:
        ran = shell("up", "-d")
        assert ran.status == 0, ran.talk
        target = find_target(environment=environment)
        with closing(Client(target.url, target.api_key, timeout=60)) as client:
            yield Small(client, model)
    finally:
        shell("down")
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def small(installed: Small) -> Small:
    installed.play()
    return installed


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("columns", [0, 300])
def test_a_transform_of_a_wide_table(small: Small, columns: int) -> None:
    names = "".join(f",a_column_with_a_long_name_{number}" for number in range(columns))
    lines = SALES.splitlines()
    cells = "".join(f",some text {number}" for number in range(columns))
    csv = "\n".join([lines[0] + names, *(line + cells for line in lines[1:])])
    job = small.client.submit("transform", {"task": "Total amount by region", "data": [{"name": "data", "csv": csv}]})
    result = small.ended(job)
    assert result["table"]["rows"] == [["north", 6], ["south", 3], ["west", 1]]
    assert small.left_out(job) == (["rows and columns of the preview"] if columns else [])
    if columns:
        assert "The previews are shorter than usual" in small.model.requests()[0]["messages"][-1]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("lines", [0, 600])
def test_a_document_about_much_text(small: Small, lines: int) -> None:
    about = "".join(f"Line {number} of the log.\n" for number in range(lines))
    markdown = (
        f"::: describe Say what this is about. >>>\n\n{about}\n" if lines else "::: describe Say something. :::\n"
    )
    job = small.client.document(markdown=markdown)
    result = small.ended(job)
    assert "A ship sails." in result["markdown"]
    assert [block["status"] for block in result["blocks"]] == ["ok"]
    assert small.left_out(job) == (["lines of the document"] if lines else [])
    sent = small.model.requests()[0]["messages"][-1]
    assert sent.startswith("Say ")
    assert ("lines are left out" in sent) == (lines > 0)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("size", [2, 400])
def test_an_edit_of_a_large_flow(small: Small, size: int) -> None:
    labels = [f"Step {number} of the work" for number in range(size)]
    nodes = [
        {"id": f"n{number}", "position": {"x": 0, "y": 0}, "data": {"label": label}}
        for number, label in enumerate(labels)
    ]
    edges = [{"id": f"e{number}", "source": f"n{number - 1}", "target": f"n{number}"} for number in range(1, size)]
    made = small.client.send(flows.create({"nodes": nodes, "edges": edges}))
    job = small.client.edit_flow(str(made["id"]), "Add a review")
    result = small.ended(job)
    assert result["success"]
    assert len(result["flow"]["nodes"]) == size + 1
    told = small.left_out(job)
    assert told == ["details of the tools", *(["parts of the flow"] if size > 2 else [])]
    sent = small.model.requests()[0]["messages"][-1]
    assert "addNode(label, id?" in sent
    assert "n0" in sent
    assert ("nodes, one a line as ID | label (only" in sent) == (size > 2)


@pytest.mark.slow(seconds=2)
def test_a_search_with_long_hits(small: Small) -> None:
    tables = {name: {"facets": {"purpose": 1.0}} for name in ("talks", "notes")}
    small.client.send(rest.create_collection("talks", tables))
    text = "Queues in Postgres with SKIP LOCKED and advisory locks, as told by those who wait. " * 30
    records = [{"id": str(number), "text": f"{number}. {text}", "facets": {"purpose": text}} for number in range(12)]
    for table in tables:
        small.client.ingest("talks", table, records=records).result(120)
    job = small.client.submit("search", {"collection": "talks", "question": "Which talk is about queues?"})
    result = small.ended(job)
    assert result["answer"]
    told = small.left_out(job)
    assert "hits and parts of their texts" in told
    answered = next(each for each in small.model.requests() if each["role"] == "search.answer")
    assert "left out" in answered["messages"][-1]


@pytest.mark.slow(seconds=2)
def test_a_detection_in_long_files(small: Small, tmp_path: Path) -> None:
    (tmp_path / "native").mkdir()
    (tmp_path / "native" / "main.zig").write_text('const std = @import("std");\n' * 400)
    for number in range(60):
        (tmp_path / "native" / f"a_module_with_a_long_name_{number}.zig").write_text("const a = 1;\n" * 100)
    job = small.client.detect(tmp_path, mode="llm_only")
    small.ended(job)
    assert small.left_out(job) == ["names and texts of files"]


@pytest.mark.slow(seconds=2)
def test_a_long_conversation_goes_on(small: Small) -> None:
    """Each question is long; the model is shown the last ones that fit."""
    conversation: str | None = None
    jobs = []
    for number in range(4):
        task = f"Total amount by region ({number}). " + "Mind that the amounts are in thousands. " * 60
        given: dict[str, Any] = {"task": task, "data": [{"name": "data", "csv": SALES}]}
        submit: SubmitOptions = {} if conversation is None else {"conversation_id": conversation}
        job = small.client.submit("transform", given, submit)
        small.ended(job)
        conversation = job.view.conversation_id
        jobs.append(job)
    assert "earlier messages" in small.left_out(jobs[-1])
    assert any("earlier messages are left out here" in text for text in small.model.requests()[-1]["messages"])


@pytest.mark.slow(seconds=3)
def test_tenants_share_one_slot_fairly_and_nobody_times_out(small: Small) -> None:
    """The busy one comes first with 16 jobs, then two others with 3 each: theirs do not wait for all of its."""
    small.play(latency_ms=20)
    asked = {"busy": 16, "calm-1": 3, "calm-2": 3}
    jobs: list[tuple[str, Job[Any]]] = []
    with ExitStack() as stack:
        taken = stack.enter_context(closing(small.slot()))
        for tenant, count in asked.items():
            client = stack.enter_context(closing(small.of(tenant)))
            for number in range(count):
                markdown = f"::: describe Say hello to {tenant} for the time {number}. :::\n"
                jobs.append((tenant, client.document(markdown=markdown)))
        taken.close()
        ended = [(job.wait(120).finished_at, tenant) for tenant, job in jobs]
        calls = [call for _, job in jobs for call in job.llm_calls().items]
    assert [call.outcome for call in calls] == ["ok"] * sum(asked.values())
    order = [tenant for _, tenant in sorted(ended, key=lambda each: str(each[0]))]
    last_calm = max(at for at, tenant in enumerate(order) if tenant != "busy")
    # The worker had begun four before the others came; then each round has one call of each tenant.
    assert order[: last_calm + 1].count("busy") <= 10
    assert max(call.queue_seconds or 0 for call in calls) > 0, "they waited on our side"
