"""What a Dockerfile says: the last stage runs, the packages of every stage build."""

from __future__ import annotations

import pytest

from services.stacks.phases.facts.dockerfile import Deployment, command_of, read_dockerfile


def read(text: str) -> Deployment:
    facts = Deployment()
    read_dockerfile(text, facts)
    return facts


def test_only_the_last_stage_runs() -> None:
    facts = read(
        "FROM a AS build\nEXPOSE 1111\nRUN apt-get update && apt-get install -y --no-install-recommends gcc libpq-dev=1 \\\n"
        '  && rm -rf /x\nFROM b\nARG PORT=8080\nEXPOSE $PORT 9090/tcp\nENV MODE=x DEBUG=1\nENTRYPOINT ["run"]\n'
        'CMD ["--fast"]\nHEALTHCHECK CMD curl http://localhost:8080/healthz\n'
    )
    assert (facts.ports, facts.packages) == ([8080, 9090], ["gcc", "libpq-dev"])
    assert (facts.env, facts.command, facts.health) == (["MODE", "DEBUG"], ["run", "--fast"], "/healthz")


def test_comments_and_broken_instructions_say_nothing() -> None:
    facts = read("# EXPOSE 1\nEXPOSE nonsense 70000\nCMD [not json\n")
    assert (facts.ports, facts.command) == ([], [])


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("node server.js --a 'b c'", ["node", "server.js", "--a", "b c"]), ("A=1 node x", ["sh", "-c", "A=1 node x"]),
        ("a && b", ["sh", "-c", "a && b"]), ("unbalanced 'x", ["sh", "-c", "unbalanced 'x"]), ("  ", []),
    ],
)  # fmt: skip
def test_a_shell_is_used_where_only_a_shell_understands(text: str, command: list[str]) -> None:
    assert command_of(text) == command
