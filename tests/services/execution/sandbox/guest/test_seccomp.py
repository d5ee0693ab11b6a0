"""The tables behind the filter: every machine's numbers are its own, and nothing is allowed that has a rule."""

from __future__ import annotations

import pytest

from services.execution.sandbox.guest.seccomp import _rules
from services.execution.sandbox.guest.syscalls import ALLOWED, numbers


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_are_distinct_and_belong_to_calls_that_the_filter_speaks_of(machine: str) -> None:
    table = numbers(machine)
    assert len(set(table.values())) == len(table)
    assert table.keys() <= ALLOWED | _rules(memfd=True).keys()


def test_a_call_with_a_rule_is_in_no_other_list() -> None:
    assert not ALLOWED & _rules(memfd=True).keys()


@pytest.mark.parametrize(
    "name", ["ptrace", "mount", "unshare", "setns", "bpf", "io_uring_setup", "keyctl", "process_vm_readv", "execveat"]
)
def test_doors_into_the_kernel_are_in_no_list(name: str) -> None:
    assert name not in ALLOWED


@pytest.mark.parametrize(
    ("name", "x86_64", "aarch64"),
    [("read", 0, 63), ("openat", 257, 56), ("clone", 56, 220), ("execve", 59, 221), ("socket", 41, 198)],
)
def test_well_known_numbers_are_right(name: str, x86_64: int, aarch64: int) -> None:
    assert (numbers("x86_64")[name], numbers("aarch64")[name]) == (x86_64, aarch64)


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(KeyError):
        numbers("riscv64")
