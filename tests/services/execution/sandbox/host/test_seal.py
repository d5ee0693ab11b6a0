"""The secret of a kernel: only its first request carries it, and an end is sealed for its call, request and outcome."""

from __future__ import annotations

from services.execution.sandbox.host.seal import Seal


def test_only_the_first_request_carries_the_key() -> None:
    seal = Seal()
    first = seal.next_call()
    assert isinstance(first, list)
    assert len(first) == 6
    assert [seal.next_call(), seal.next_call()] == [None, None]


def test_an_end_is_sealed_for_its_call_its_request_its_outcome_and_its_result() -> None:
    seal = Seal()
    seal.next_call()
    seal.bind(b'{"code": "1"}')
    made = seal._made(0, 7)
    assert seal.outcome(0, made, 7) == "returned"
    assert seal.outcome(1, made, 7) is None
    assert seal.outcome(0, made, 8) is None
    seal.bind(b'{"code": "2"}')
    assert seal.outcome(0, made, 7) is None
    seal.next_call()
    seal.bind(b'{"code": "1"}')
    assert seal.outcome(0, made, 7) is None
