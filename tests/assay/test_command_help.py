"""Each command has an example that can be parsed, and each option says what it is for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest
from cyclopts import App

from assay.command import build, run, take_globals
from assay.commands.examples import EXAMPLES, example_of
from assay.commands.session import Globals, begin
from shared import VERSION


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Every command that can be run, by its words."""
    for name in app:
        if not name.startswith("-"):
            words, command = (*path, name), app[name]
            if command.default_command is not None:
                yield words, command
            yield from commands(command, words)


COMMANDS = dict(commands(build()))


def test_every_example_belongs_to_a_command() -> None:
    assert set(EXAMPLES) <= {" ".join(words) for words in COMMANDS}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_has_an_example_that_it_takes(words: tuple[str, ...]) -> None:
    example = example_of(words)
    assert example, f"assay {' '.join(words)} has no example: see assay/commands/examples.py"
    begin(Globals())
    given = shlex.split(re.sub(r"@last|01a2b3c4", "0123456789abcdef0123456789abcdef01234567", example))
    rest = given[1:] if words == ("config", "set") else take_globals(given[1:])[1]
    if words == ("config", "set"):
        rest = [word for word in rest if word not in {"--url", "https://assay.example.org"}]
    build().parse_args(rest, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_is_for(words: tuple[str, ...]) -> None:
    arguments = COMMANDS[words].assemble_argument_collection()
    silent = [each.name for each in arguments if each.show and not each.children and not each.parameter.help]
    assert silent == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_letter_o_names_a_file_to_write(words: tuple[str, ...]) -> None:
    for argument in COMMANDS[words].assemble_argument_collection():
        if argument.show and "-o" in argument.names:
            assert "--out" in argument.names


def test_the_help_shows_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["flow", "edit", "--help"]) == 0
    assert 'assay flow edit shop.mmd "add a review step after cart"' in capsys.readouterr().out


def test_help_and_version_are_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "jobs"]) == 0
    shown = capsys.readouterr().out
    assert run(["jobs", "--help"]) == 0
    assert capsys.readouterr().out == shown
    for words in (["version"], ["--version"], ["-V"]):
        assert run(words) == 0
        assert capsys.readouterr().out.strip() == VERSION
