"""The model's part: several answers at once, answers of a form, code that is checked, words for the system."""

from __future__ import annotations

import threading

import pytest

from shared.llm.chat import ChatReply, ChatRequest, Finish, TokenUsage
from shared.loop import Budget
from tests.services.execution.documents.support import DocumentJobs, block, codes, python

CITY = '{"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}, "required": ["n"]}'


def test_replicates_are_asked_for_at_the_same_time(jobs: DocumentJobs) -> None:
    together = threading.Barrier(3, timeout=20)

    def answer(request: ChatRequest) -> str:
        return f"answer {together.wait()}"

    result = jobs.run("::: create x3 A word :::\n", answer=answer)
    assert sorted(line for line in result.markdown.splitlines() if line.startswith("answer")) == [
        "answer 0",
        "answer 1",
        "answer 2",
    ]
    assert sorted(block(result, "instruction-1").answers) == ["answer 0", "answer 1", "answer 2"]


def test_replicates_that_the_budget_does_not_allow_are_named(jobs: DocumentJobs) -> None:
    result = jobs.run("::: create x3 A word :::\n", budget=Budget(turns=2))
    assert (result.markdown.count(":++ {by="), codes(block(result, "instruction-1"))) == (2, ["budget_spent"])
    assert block(result, "instruction-1").status == "ok"


@pytest.mark.parametrize(
    "document",
    [
        f"::: create as=city schema={CITY} A city :::\n",
        f"```json #city-form\n{CITY}\n```\n\n::: create as=city schema=city-form A city :::\n",
        f"```{{.json #city-form}}\n{CITY}\n```\n\n::: create {{as=city schema=city-form}} A city :::\n",
        "::: create as=city schema=forms/city.json A city :::\n",
        "::: create as=city schema=object A city :::\n",
    ],
)
def test_an_answer_of_a_form_is_a_value(jobs: DocumentJobs, document: str) -> None:
    form = jobs.files.add("city.json", CITY.encode())
    text = document + python("city['n'] + 1") + "\n::: describe {{ city.name }} :::\n"
    files = [{"id": form, "path": "forms/city.json"}]
    result = jobs.run(text, answer=['```json\n{"name": "Oslo", "n": 4}\n```', "Fine."], files=files)
    assert [one.status for one in result.blocks] == ["ok", "ok", "ok"], [one.messages for one in result.blocks]
    assert block(result, "chunk-1").outputs[0].text == "5"
    assert jobs.sent()[-1] == "Oslo"
    assert "JSON Schema" in jobs.llm.requests[0].messages[0].content
    jobs.keep("one", result)
    again = jobs.run(result.markdown.replace("+ 1", "+ 2"), previous_job_id="one", files=files)
    assert jobs.sent() == []
    assert block(again, "chunk-1").outputs[0].text == "6"


def test_an_answer_that_does_not_fit_is_fed_back_once(jobs: DocumentJobs) -> None:
    text = f"::: create as=city schema={CITY} A city :::\n\n::: describe {{{{ city.n }}}} :::\n"
    result = jobs.run(text, answer=['{"n": "four"}', '{"n": 4}', "Fine."])
    assert len(jobs.sent()) == 3
    assert "does not fit the schema: n: " in jobs.sent()[1]
    assert [message.role for message in jobs.llm.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert jobs.sent()[2] == "4"
    assert '"four"' not in result.markdown


def test_an_answer_that_never_fits_is_a_message_in_its_place(jobs: DocumentJobs) -> None:
    text = f"::: create as=city schema={CITY} A city :::\n\n{python('city')}\n::: describe {{{{ city }}}} :::\n"
    result = jobs.run(text, answer="not JSON")
    assert jobs.sent()[2:] == ["{{ city }}"]
    first, chunk, last = (block(result, name) for name in ("instruction-1", "chunk-1", "instruction-2"))
    assert (first.status, codes(first)) == ("error", ["answer_invalid"])
    assert (chunk.status, codes(chunk)) == ("skipped", ["dependency_failed"])
    assert (last.status, codes(last)) == ("ok", ["not_rendered"])
    assert result.markdown.count(":++ {by=") == 1


@pytest.mark.parametrize(
    "schema",
    [
        "nowhere",
        '{"type": "nope"}',
        '{"$ref": "https://example.org/a.json"}',
        '{"$ref": "file:///etc/passwd"}',
        '{"pattern": "("}',
    ],
)
def test_a_schema_that_cannot_be_used_is_a_message(jobs: DocumentJobs, schema: str) -> None:
    result = jobs.run(f"::: create as=x schema={schema} A city :::\n\n{python('1')}")
    assert codes(block(result, "instruction-1")) == ["bad_schema"]
    assert jobs.sent() == []
    assert block(result, "chunk-1").status == "ok"


def test_a_pattern_of_a_schema_takes_linear_time(jobs: DocumentJobs) -> None:
    result = jobs.run('::: create as=x schema={"pattern": "^(a+)+$"} A word :::\n', answer=f'"{"a" * 5000}!"')
    assert codes(block(result, "instruction-1")) == ["answer_invalid"]


def test_generated_code_is_parsed_before_any_of_it_runs(jobs: DocumentJobs) -> None:
    wrong = "```python\nprint('ran')\n```\n\n```python\nx = = 1\n```"
    result = jobs.run("::: create execute=true Code :::\n", answer=[wrong, "```python\nx = 1\n```"])
    assert "SyntaxError" in jobs.sent()[1]
    assert "block 2" in jobs.sent()[1]
    told = block(result, "instruction-1")
    assert (told.status, told.outputs, codes(told)) == ("ok", [], [])


def test_code_that_cannot_be_parsed_is_said_of_an_answer_that_does_not_run(jobs: DocumentJobs) -> None:
    result = jobs.run("::: create Code :::\n", answer="```python\nx = = 1\n```")
    assert (block(result, "instruction-1").status, codes(block(result, "instruction-1"))) == (
        "ok",
        ["generated_code_unparsable"],
    )
    assert len(jobs.sent()) == 1
    assert "x = = 1" in result.markdown


def test_a_blocks_own_budget_ends_its_repairs(jobs: DocumentJobs) -> None:
    request = jobs.run("::: create budget=50 Go :::\n")
    assert jobs.llm.requests[0].max_tokens == 50
    assert block(request, "instruction-1").status == "ok"


def test_a_discussion_knows_what_was_said_above_it(jobs: DocumentJobs) -> None:
    text = "::: discuss One? :::\n\n::: describe Two :::\n\n::: discuss Three? :::\n"
    result = jobs.run(text, answer=["Yes.", "It.", "No."])
    assert [message.content for message in jobs.llm.requests[2].messages[1:]] == ["One?", "Yes.", "Three?"]
    assert len(jobs.llm.requests[1].messages) == 2
    assert jobs.report.said == [("One?", "Yes."), ("Three?", "No.")]
    jobs.keep("one", result)
    changed = result.markdown.replace("Three?", "Four?")
    jobs.run(changed, previous_job_id="one")
    assert [message.content for message in jobs.llm.requests[0].messages[1:]] == ["One?", "Yes.", "Four?"]
    jobs.run(result.markdown.replace("One?", "Zero?"), previous_job_id="one")
    assert jobs.sent() == ["Zero?", "Three?"]


def test_a_prompt_block_is_words_for_the_system(jobs: DocumentJobs) -> None:
    tone = jobs.files.add("tone.md", b"---\ntitle: x\n---\nBe brief.\n")
    text = (
        python("x = 4")
        + "::: prompt @kind\n\nSay {{ x }} things.\n\n:::\n\n"
        + "::: create @kind One :::\n\n::: create @tone Two :::\n\n::: create @none Three :::\n"
    )
    result = jobs.run(text, files=[{"id": tone, "path": "prompts/tone.md"}])
    assert [request.messages[0].content.splitlines()[-1] for request in jobs.llm.requests[:2]] == [
        "Say 4 things.",
        "Be brief.",
    ]
    told = block(result, "prompt-1")
    assert (told.status, told.message_original, told.message_rendered) == (
        "ok",
        "Say {{ x }} things.",
        "Say 4 things.",
    )
    assert [one.name for one in told.variables] == ["x"]
    assert codes(block(result, "instruction-3")) == ["no_such_prompt"]
    assert block(result, "instruction-3").status == "ok"


def test_every_turn_of_a_loop_has_its_answers(jobs: DocumentJobs) -> None:
    text = "::: for n in [1, 2, 3] {python}\n\n::: create About {{ n }} :::\n\n:::\n\nEnd.\n"
    result = jobs.run(text, answer=lambda request: f"So {request.messages[-1].content}.")
    assert jobs.sent() == ["About 1", "About 2", "About 3"]
    assert [line for line in result.markdown.splitlines() if line.startswith("So")] == [
        "So About 1.",
        "So About 2.",
        "So About 3.",
    ]
    jobs.keep("one", result)
    again = jobs.run(result.markdown, previous_job_id="one")
    assert (jobs.sent(), again.markdown) == ([], result.markdown)
    changed = jobs.run(result.markdown.replace("[1, 2, 3]", "[1, 4]"), previous_job_id="one", answer="New.")
    assert jobs.sent() == ["About 4"]
    assert [line for line in changed.markdown.splitlines() if line in ("So About 1.", "New.")] == [
        "So About 1.",
        "New.",
    ]
    assert "About 2." not in changed.markdown


def test_an_instruction_that_does_not_exist_is_a_message_and_the_rest_goes_on(jobs: DocumentJobs) -> None:
    result = jobs.run("::: polish [openai/gpt-5] this text :::\n\n::: describe it :::\n")
    first, second = result.blocks
    assert (first.kind, first.status, codes(first)) == ("instruction", "error", ["unknown_instruction"])
    assert first.instruction_type == "polish"
    assert second.status == "ok"
    assert jobs.sent() == ["it"]


@pytest.mark.parametrize(
    ("finish", "code", "words"),
    [
        (Finish.LENGTH, "answer_cut", "was cut after 1873 tokens"),
        (Finish.REFUSAL, "answer_refused", "refused to answer. Babble"),
    ],
)
def test_a_cut_answer_and_a_refusal_are_errors_and_stay_out_of_the_document(
    jobs: DocumentJobs, finish: Finish, code: str, words: str
) -> None:
    reply = ChatReply("Babble babble", "local", "small", finish, usage=TokenUsage(10, 1873))
    text = f"::: create as=word A word :::\n\n{python('word')}\n"
    result = jobs.run(text, answer=lambda request: reply)
    asked, chunk = block(result, "instruction-1"), block(result, "chunk-1")
    assert (asked.status, codes(asked), chunk.status) == ("error", [code], "skipped")
    assert words in asked.messages[0].text
    assert "babble" not in result.markdown.lower()


def test_marks_of_data_and_paths_of_models_stay_out_of_the_document(jobs: DocumentJobs) -> None:
    def answer(request: ChatRequest) -> ChatReply:
        mark = request.messages[-1].content.split("<")[1].split(">")[0]
        assert mark.startswith("data-")
        return ChatReply(f"<{mark}>\nSums.\n</{mark}>\n", "local", "/srv/models/small.gguf")

    document = python("text = 'a\\nb'") + "\n::: describe About {{ text }} :::\n"
    result = jobs.run(document, answer=answer)
    asked = block(result, "instruction-1")
    assert (asked.status, asked.model) == ("ok", "local/small.gguf")
    assert "Sums." in result.markdown
    assert "data-" not in result.markdown
    assert "/srv" not in result.markdown


def test_the_schema_of_an_answer_is_sent_where_it_is_an_object(jobs: DocumentJobs) -> None:
    jobs.run(f"::: create as=city schema={CITY} A city :::\n", answer='{"n": 4}')
    (request,) = jobs.llm.requests
    assert request.schema is not None
    assert dict(request.schema.schema)["required"] == ["n"]
    jobs.run("::: create as=n schema=integer A number :::\n", answer="4")
    assert jobs.llm.requests[0].schema is None


def test_figures_that_the_model_did_not_see_are_told(jobs: DocumentJobs) -> None:
    result = jobs.run(
        "::: create A word :::\n", answer=lambda request: ChatReply("A word.", "local", "small", unseen=1)
    )
    assert codes(block(result, "instruction-1")) == ["image_not_seen"]
