"""Whatever the document: what was not executed stays, and a second run has nothing left to do."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shared.contracts.document import DocumentResult
from tests.services.execution.documents.support import DocumentJobs

_PIECES = st.sampled_from(
    [
        "::: describe it {{ n }} :::\n", "::: edit [m] y >>>\n", "::: fix z\n", "::: create as=y x2 A :::\n",
        "::: discuss Q {{ y }}?\n", "::: create @p Go :::\n", "::: create It <<<\n", "::: prompt @p Be {{ n }} :::\n",
        "::: note\n", ":::\n", "::::\n", ":++\n", ":++ accept\n", ":--\n", ":-- accept\n", ":~~\n", ":~>\n",
        "&[n]{int def=3}\n",
        "para\n", "- item\n", "\n", "```text\n", "```\n", "````\n", ":::{describe} Hi\n:as: y\n",
        "```{create}\nHi\n```\n",
        "::: {.describe as=y}\n", "text", "{{ n }}", "  ",
    ]
)  # fmt: skip
_ANSWERS = st.sampled_from(
    ["An answer.", ":::\n:++\nout\n", "```text\nopen", "a\n\n:--\nb\n:~~", "::: create more :::"]
)


@pytest.mark.slow(seconds=2.5)
@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(_PIECES, max_size=14).map("".join),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["stencila", "quarto", "myst"]),
    _ANSWERS,
)
@example("::: fix z\n::: edit [m] y >>>\n:::\n", "\n", "stencila", "An answer.")
@example("::: edit x >>>\n::: note\n::: create a :::\n\n:++ accept\nq\n:++\n:::\n", "\n", "stencila", "An answer.")
def test_a_second_run_asks_nobody_and_changes_nothing(
    jobs: DocumentJobs, text: str, newline: str, flavour: str, answer: str
) -> None:
    text = text.replace("\n", newline)
    first = jobs.run(text, answer=answer, flavour=flavour)
    kept = iter(first.markdown.splitlines(keepends=True))
    assert all(any(line.rstrip("\r\n") == other.rstrip("\r\n") for other in kept) for line in text.splitlines())
    assert jobs.run(text, flavour=flavour, execute="none").markdown == text
    assert jobs.run(text, flavour=flavour, dry_run=True).markdown == text
    assert jobs.sent() == []
    if any(one.status == "error" for one in first.blocks):
        return
    if any(one.kind == "instruction" and one.messages for one in first.blocks):
        return
    jobs.keep("one", first)
    for source in (first.markdown, text):
        again = jobs.run(source, answer="never", flavour=flavour, previous_job_id="one")
        assert jobs.sent() == []
        assert again.markdown == first.markdown


def test_an_included_file_gains_its_answers_as_a_file_of_the_result(jobs: DocumentJobs) -> None:
    part = "::: describe {{ n }} :::\r\n\r\nEnd of the part.\r\n"
    text = "::: call part.md (n=1)\n\n::: call part.md (n=2)\n\n::: create It :::\n"

    def run(source: str, included: str, previous: str | None = None, dry: bool = False) -> tuple[DocumentResult, str]:
        files = [{"id": jobs.files.add("part.md", included.encode()), "path": "part.md"}]
        result = jobs.run(source, answer=["One.", "Two.", "It."], files=files, previous_job_id=previous, dry_run=dry)
        return result, "".join(jobs.files.contents[one.file_id][1].decode() for one in result.files)

    first, written = run(text, part)
    answers = "".join(f'\r\n:++ {{by="scripted/scripted-1"}}\r\n{each}\r\n:++\r\n' for each in ("One.", "Two."))
    assert written == part.replace(":::\r\n", f":::\r\n{answers}", 1)
    assert [one.path for one in first.files] == ["part.md"]
    assert first.markdown.count(":++ {by") == 1
    assert run(text, part, dry=True)[0].files == []
    jobs.keep("one", first)
    for source, included in ((text, part), (first.markdown, part), (first.markdown, written)):
        again, rewritten = run(source, included, "one")
        assert jobs.sent() == []
        assert {one.status for one in again.blocks} == {"fresh"}
        assert again.markdown == first.markdown
        assert rewritten == ("" if included == written else written)
