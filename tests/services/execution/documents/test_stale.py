"""Running again: only what changed, with the values of what did not."""

from __future__ import annotations

from tests.services.execution.documents.support import DocumentJobs, block, codes, python

TEXT = (
    python("import random\nimport math\nx = random.random()")
    + "\n"
    + python("y = math.floor(x)\ny")
    + "\n::: describe {{ x }} :::\n\nEnd.\n"
)


def test_with_nothing_changed_nothing_runs_and_no_model_is_asked(jobs: DocumentJobs) -> None:
    first = jobs.run(TEXT)
    sent = jobs.sent()
    jobs.keep("one", first)
    for text in (TEXT, first.markdown):
        again = jobs.run(text, previous_job_id="one", answer="never")
        assert jobs.sent() == []
        assert again.markdown == first.markdown
        assert {one.status for one in again.blocks} == {"fresh"}
        assert block(again, "instruction-1").message_rendered == sent[0]
        assert [names for *_, names in block(again, "instruction-1").message_spans] != []
        assert [o.text for o in block(again, "chunk-2").outputs] == ["0"]


def test_only_what_changed_runs_with_the_values_that_were(jobs: DocumentJobs) -> None:
    first = jobs.run(TEXT)
    was = jobs.sent()[0]
    jobs.keep("one", first)
    changed = first.markdown.replace("y = math.floor(x)", "y = math.ceil(x)")
    again = jobs.run(changed, previous_job_id="one")
    assert [one.status for one in again.blocks if one.kind != "suggestion"] == ["fresh", "ok", "fresh"]
    assert [o.text for o in block(again, "chunk-2").outputs] == ["1"]
    jobs.keep("two", again)
    asked = jobs.run(again.markdown.replace("{{ x }}", "now {{ x }}"), previous_job_id="two", answer="New.")
    assert jobs.sent() == [f"now {was}"]
    assert asked.markdown.count(":++ {by=") == 1
    assert "New." in asked.markdown


def test_what_depends_on_a_change_is_stale_too(jobs: DocumentJobs) -> None:
    text = python("a = 1") + python("b = a + 1") + python("c = 5") + "::: describe {{ b }} :::\n"
    jobs.keep("one", jobs.run(text))
    again = jobs.run(text.replace("a = 1", "a = 7"), previous_job_id="one")
    assert [one.status for one in again.blocks] == ["ok", "ok", "fresh", "ok"]
    assert jobs.sent() == ["8"]


def test_frames_and_functions_of_fresh_chunks_come_back(jobs: DocumentJobs) -> None:
    text = python("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndef twice(v):\n    return v * 2") + python(
        "1"
    )
    jobs.keep("one", jobs.run(text))
    again = jobs.run(
        text.replace("```python exec\n1\n", "```python exec\ntwice(int(df.a.sum()))\n"), previous_job_id="one"
    )
    assert [one.status for one in again.blocks] == ["fresh", "ok"]
    assert [o.text for o in block(again, "chunk-2").outputs] == ["6"]


def test_all_runs_everything(jobs: DocumentJobs) -> None:
    jobs.keep("one", jobs.run(TEXT))
    again = jobs.run(TEXT, previous_job_id="one", execute="all")
    assert {one.status for one in again.blocks} == {"ok"}


def test_a_failed_block_runs_again(jobs: DocumentJobs) -> None:
    jobs.keep("one", jobs.run("::: describe it :::\n", answer=None))
    again = jobs.run("::: describe it :::\n", previous_job_id="one")
    assert jobs.sent() == ["it"]
    assert block(again, "instruction-1").status == "ok"


def test_blocks_that_are_alike_keep_each_its_own(jobs: DocumentJobs) -> None:
    drawn = python("import random") + python("random.random()") * 2 + "`random.random()`{python exec}\n\n" * 2
    text = drawn + python("x = random.random()") + "::: describe {{ x }} :::\n" + python("x = random.random()")
    first = jobs.run(text)
    shown = [[output.text for output in one.outputs] for one in first.blocks]
    assert len({str(each) for each in shown[1:5]}) == 4
    jobs.keep("one", first)
    again = jobs.run(text, previous_job_id="one")
    assert {one.status for one in again.blocks} == {"fresh"}
    assert [[output.text for output in one.outputs] for one in again.blocks] == shown
    assert again.variables == first.variables


def test_a_look_marks_what_would_have_to_run_and_runs_nothing(jobs: DocumentJobs) -> None:
    text = python("a = 1") + python("b = a + 1") + python("c = 5") + "::: describe {{ b }} :::\n\n`c`{python exec}\n"
    first = jobs.run(text)
    jobs.keep("one", first)
    same = jobs.run(first.markdown, previous_job_id="one", execute="none", answer="never")
    assert [one.status for one in same.blocks if one.kind != "suggestion"] == ["fresh"] * 5
    assert block(same, "instruction-1").message_rendered == "2"
    assert block(same, "expression-1").outputs[0].text == "5"
    changed = first.markdown.replace("a = 1", "a = 7")
    look = jobs.run(changed, previous_job_id="one", execute="none", answer="never")
    assert [one.status for one in look.blocks if one.kind != "suggestion"] == [
        *("stale", "stale", "fresh", "stale", "fresh")
    ]
    assert (jobs.sent(), jobs.report.events, look.markdown, look.html_file_id) == ([], [], changed, None)
    assert look.variables == {"c": 5}


def test_a_job_builds_on_a_look_as_on_the_job_that_was_looked_at(jobs: DocumentJobs) -> None:
    jobs.keep("one", jobs.run(TEXT))
    jobs.keep("look", jobs.run(TEXT, previous_job_id="one", execute="none"))
    again = jobs.run(TEXT, previous_job_id="look", answer="never")
    assert {one.status for one in again.blocks} == {"fresh"}
    assert jobs.sent() == []


def test_what_a_look_calls_stale_is_what_the_run_then_runs(jobs: DocumentJobs) -> None:
    text = (
        "&[n]{int def=2}\n\n"
        + python("many = n > 1")
        + "::: if many\n\n"
        + python("kind = 'many'")
        + "::: else\n\n"
        + python("kind = 'few'")
        + ":::\n\n::: for i in range(n)\n\n"
        + python("i * 2")
        + ":::\n\n"
        + python("print(kind)")
        + python("other = 1")
        + "::: prompt @tone Speak of {{ kind }} :::\n\n::: describe @tone {{ other }} :::\n"
    )
    jobs.keep("one", jobs.run(text))
    same = jobs.run(text, previous_job_id="one", execute="none")
    assert {one.status for one in same.blocks} == {"fresh", "skipped"}
    for parameters in ({"n": 3}, {"n": 1}):
        look = jobs.run(text, previous_job_id="one", execute="none", parameters=parameters)
        run = jobs.run(text, previous_job_id="one", parameters=parameters)
        stale = {one.id for one in look.blocks if one.status == "stale"}
        assert {one.id for one in run.blocks if one.status not in ("fresh", "skipped")} <= stale
        assert block(look, "chunk-6").status == "fresh"


def test_what_would_go_wrong_is_an_error_also_in_a_look_at_what_is_stale(jobs: DocumentJobs) -> None:
    text = python("x = 1") + python("y = 2")
    jobs.keep("one", jobs.run(text))
    look = jobs.run(text.replace("y = 2", "y = = 2"), previous_job_id="one", execute="none")
    assert [(one.status, codes(one)) for one in look.blocks] == [("fresh", []), ("error", ["syntax_error"])]


def test_without_anything_to_compare_with_everything_is_stale(jobs: DocumentJobs) -> None:
    look = jobs.run(TEXT, previous_job_id="gone", execute="none")
    assert {one.status for one in look.blocks} == {"stale"}
    assert look.warnings == ["The earlier job has left nothing to compare with."]


def test_blocks_of_an_included_file_are_looked_at_within_it(jobs: DocumentJobs) -> None:
    part = jobs.files.save("part.md", python("z = 4").encode(), "text/markdown")
    files = [{"id": part.id, "path": "part.md"}]
    text = "::: include part.md\n\n" + python("z + 1")
    jobs.keep("one", jobs.run(text, files=files))
    look = jobs.run(text, files=files, previous_job_id="one", execute="none")
    assert [(one.id, one.status) for one in look.blocks] == [
        *(("include-1", "fresh"), ("include-1/chunk-1", "fresh"), ("chunk-1", "fresh"))
    ]
