"""The tables behind the filter: every machine's numbers are its own, and what must not be called is in none."""

from __future__ import annotations

import pytest

from services.execution.sandbox.guest.seccomp import _rules, numbers


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_are_distinct(machine: str) -> None:
    table = numbers(machine)
    assert len(set(table.values())) == len(table)


def test_every_rule_is_of_a_call_that_some_machine_has() -> None:
    assert _rules(memfd=True).keys() <= numbers("x86_64").keys() | numbers("aarch64").keys()


def test_the_newer_machine_allows_no_call_that_the_older_one_refuses() -> None:
    assert numbers("aarch64").keys() <= numbers("x86_64").keys()


@pytest.mark.parametrize(
    "name", ["ptrace", "mount", "unshare", "setns", "bpf", "io_uring_setup", "keyctl", "process_vm_readv", "execveat"]
)
def test_doors_into_the_kernel_are_in_no_list(name: str) -> None:
    assert name not in numbers("x86_64").keys() | numbers("aarch64").keys()


@pytest.mark.parametrize(
    ("name", "x86_64", "aarch64"),
    [("read", 0, 63), ("openat", 257, 56), ("clone", 56, 220), ("execve", 59, 221), ("socket", 41, 198)],
)
def test_well_known_numbers_are_right(name: str, x86_64: int, aarch64: int) -> None:
    assert (numbers("x86_64")[name], numbers("aarch64")[name]) == (x86_64, aarch64)


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(KeyError):
        numbers("riscv64")
