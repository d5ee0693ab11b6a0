"""A template of a caller is filled in by a process with bounds: it delays no one, and shows nothing of the server."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest

from tests.services.gateway.http.test_problems import assert_problem

_PATH = "/v1/prompts/flows.unreadable/test"


@pytest.mark.parametrize(
    "text",
    [
        "{{ error }}{{ (7 ** 60000000) % 7 }}",
        "{{ error }}{{ 'x' * 9000000000 }}",
        "{{ error }}{% for a in range(100000) %}{% for b in range(100000) %}{{ a * b }}{% endfor %}{% endfor %}",
        "{{ error }}{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ error }}{{ range(10 ** 9) | list }}",
        "{{ error }}{{ range(10 ** 9) | sum }}",
        "{{ error }}{{ '%999999999d' % 5 }}",
        "{{ error }}{{ '{:>999999999}'.format(5) }}",
        "{{ error }}{{ lipsum(n=200000) }}",
        "{{ error }}{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{{ error }}{{ '%s' % ''.upper }}",
        "{{ error }}{{ error.upper }}",
        "{{ error }}{{ [error.upper] }}",
        "{{ error }}{{ 1 // 0 }}",
        "{{ error }}{{ error.nothing }}",
    ],
)
def test_what_takes_too_much_or_breaks_is_the_templates_own_fault(client: httpx.Client, text: str) -> None:
    answer = client.post(_PATH, json={"text": text, "variables": {"error": "e"}})
    code = "prompt_variable_unknown" if "lipsum" in text else "prompt_broken"
    assert_problem(answer, 422, code)
    assert " at 0x" not in answer.text


def test_others_are_served_meanwhile(client: httpx.Client, other: httpx.Client) -> None:
    def burn(number: int) -> int:
        text = f"{{{{ error }}}}{{{{ (7 ** {60_000_000 + number}) % 7 }}}}"
        return client.post(_PATH, json={"text": text, "variables": {"error": "e"}}).status_code

    with ThreadPoolExecutor(6) as threads:
        burning = [threads.submit(burn, number) for number in range(6)]
        slowest = 0.0
        while not all(each.done() for each in burning):
            began = time.monotonic()
            assert other.get("/v1/models").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
        assert {each.result() for each in burning} <= {422, 503}
        assert slowest < 2.0
