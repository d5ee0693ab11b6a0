"""Code is found in whatever shape a model writes it."""

from __future__ import annotations

import pytest

from services.execution.transform.replies import find_code, is_done


@pytest.mark.parametrize(
    ("reply", "language", "code"),
    [
        ("```python\na = 1\n```", "python", "a = 1"),
        ("```py\r\na = 1\r\nb = 2\r\n```\r\n", "python", "a = 1\nb = 2"),
        ("~~~python\na = 1\n~~~", "python", "a = 1"),
        ("```{r setup, echo=FALSE}\nx <- 1\n```", "r", "x <- 1"),
        ("```{r}\nx\n```", "r", "x"),
        ("```R\nx\n```", "r", "x"),
        ("```duckdb\nselect 1\n```", "sql", "select 1"),
        ("1. Do this:\n\n   ```python\n   if a:\n       b()\n   ```", "python", "if a:\n    b()"),
        ("````python\ns = '''\n```\nx\n```\n'''\n````", "python", "s = '''\n```\nx\n```\n'''"),
        ("```python\nnever closed", "python", "never closed"),
        ("```python\nfirst\n```\nbetter:\n```python\nsecond\n```", "python", "second"),
        ("```python\nfirst\n```\n```python\n\n```", "python", "first"),
        ("```\nplain\n```", "python", "plain"),
        ("```\nplain\n```\n```python\nours\n```\n```\noutput\n```", "python", "ours"),
        ("```text\nsome output\n```\nprose\n```\ncode\n```", "python", "code"),
    ],
)
def test_the_last_block_of_the_language_is_the_code(reply: str, language: str, code: str) -> None:
    found = find_code(reply, language)
    assert found is not None
    assert found.text == code


@pytest.mark.parametrize(
    "reply",
    [
        "no code at all",
        "Use `data.head()` for that.",
        "```bash\nrm -rf /\n```",
        "```json\n{}\n```\nThis prose stands after a foreign block's closing fence.",
        "```sql\nselect 1\n```",
        "```python\n\n```",
        "```python data.head()```",
    ],
)
def test_foreign_blocks_and_inline_code_never_run(reply: str) -> None:
    assert find_code(reply, "python") is None


@pytest.mark.parametrize("reply", ["```\nDONE\n```", "```python\nDONE\n```", "```python\n# DONE\n```"])
def test_a_fence_around_done_holds_no_code(reply: str) -> None:
    assert find_code(reply, "python") is None
    assert is_done(reply)


@pytest.mark.parametrize("tag", ["python3.12", "Python3", "py:main.py", "{python, echo=FALSE}", ".python"])
def test_tags_are_written_in_many_ways(tag: str) -> None:
    code = find_code(f"```{tag}\nx = 1  # DONE\n```\nDONE", "python")
    assert code is not None
    assert code.text == "x = 1  # DONE"


def test_a_look_is_told_from_code() -> None:
    look = find_code("```python look\nprint(1)\n```", "python")
    assert look is not None
    assert look.look
    code = find_code("```python\nprint(1)\n```", "python")
    assert code is not None
    assert not code.look


@pytest.mark.parametrize(
    "reply",
    [
        "DONE",
        "done",
        " Done. ",
        "**DONE**",
        "`DONE`!",
        "The result is right. DONE",
        "DONE\n",
        "DONE - no further changes are needed.",
        "DONE: nothing is left, no errors.",
        "```\nDONE\n```",
        "```python\n# DONE\n```",
        "~~~text\nDONE.\n~~~",
    ],
)
def test_done_is_done(reply: str) -> None:
    assert is_done(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "not DONE yet",
        "This isn't DONE.",
        "I will say DONE once the totals match.",
        "When the column is fixed it is DONE",
        "If that is right: DONE",
        "It is never DONE.",
        "It is done.",
        "The work is undone",
        "ABANDONED",
        "No, it is not DONE",
        "```r\nprint('DONE')\n```",
        "```r\nx <- 1 # DONE\n```",
        "In R this would be:\n```r\nx\n```\nDONE",
        "",
    ],
)
def test_talk_about_done_is_not_done(reply: str) -> None:
    assert not is_done(reply)
