"""A prompt tried on the words of a job's call: its messages and variables, with the new text in the prompt's place."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from shared import db
from shared.bounded_process import call
from shared.contracts.models import PromptTestInput
from shared.errors import InvalidRequest
from shared.llm.chat import ChatMessage, ChatRequest
from shared.llm.layer import LlmLayer
from shared.llm.ledger import Owner, latest_text
from shared.llm.prompt_trial import Trial, TrialTemplate, template_of
from shared.llm.templates import TRIAL_BOUNDS, try_template
from shared.llm.texts import unpacked
from shared.loop import Budget
from tests.shared.llm.support import layer
from tests.support.scripted import ScriptedLlm

KEY = "flows.unreadable"


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    yield engine
    engine.dispose()


def _asked(llm: LlmLayer, owner: Owner, words: str) -> None:
    prompt = llm.prompts.render(KEY, error="no JSON")
    messages = (ChatMessage("system", prompt.text), ChatMessage("user", words))
    request = ChatRequest("flows.edit", messages, prompt=prompt.version, max_tokens=321)
    llm.for_job(owner, Budget(seconds=60)).complete(request)


def _trial(llm: LlmLayer, engine: Engine, owner: Owner, given: PromptTestInput) -> Trial:
    with engine.connect() as connection:
        kept = connection.execute(latest_text(owner.tenant_id, owner.job_id or "", KEY)).mappings().one()
    return _filled(template_of(llm, KEY, given, {**kept}))


def _filled(template: TrialTemplate) -> Trial:
    return template.filled(call(try_template, template.argument(), TRIAL_BOUNDS))


def test_a_draft_is_tried_on_what_a_job_was_asked(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    owner = Owner(uuid.uuid4().hex, uuid.uuid4().hex)
    with layer(scripted_llm, ("groq",), engine, texts="all") as llm:
        scripted_llm.play({"reply": {"text": "as it was"}})
        _asked(llm, owner, "please")
        trial = _trial(llm, engine, owner, PromptTestInput(text="New words: {{ error }}", job_id=owner.job_id))
        assert [each.content for each in trial.request.messages] == ["New words: no JSON", "please"]
        assert (trial.request.role, trial.request.max_tokens, trial.before) == ("flows.edit", 321, "as it was")
        scripted_llm.play({"reply": {"text": "as it would be"}})
        tried = trial.run(llm, owner.tenant_id)
        assert (tried.ok, tried.answer, tried.before) == (True, "as it would be", "as it was")
        assert tried.served is not None
        assert tried.served.provider == "groq"
        other = PromptTestInput(variables={"error": "a comma"}, message="again")
        messages = _trial(llm, engine, owner, other).request.messages
        assert "a comma" in messages[0].content
        assert messages[1].content == "again"
        with pytest.raises(InvalidRequest, match="error"):
            _filled(template_of(llm, KEY, PromptTestInput(), None))


def test_only_as_much_is_kept_as_was_asked_for(scripted_llm: ScriptedLlm, engine: Engine) -> None:
    for keep, kept in (("off", 0), ("failed", 0), ("all", 1)):
        owner = Owner(uuid.uuid4().hex, uuid.uuid4().hex)
        with layer(scripted_llm, ("groq",), engine, texts=keep) as llm:
            scripted_llm.play({"reply": {"text": "ok"}})
            _asked(llm, owner, "x" * 1_200_000 + "end")
        with engine.connect() as connection:
            rows = connection.execute(latest_text(owner.tenant_id, owner.job_id or "", KEY)).mappings().all()
        assert len(rows) == kept
    told = unpacked(rows[0]["body"])
    assert told["cut"]
    assert told["messages"][1]["content"].endswith("[cut]")
    assert len(rows[0]["body"]) < 100_000
