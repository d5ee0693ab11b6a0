"""The table of job kinds holds what gateway, client and command need of each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shared.contracts.common import LocalPath, Reference, marked_values
from shared.contracts.detect import DetectInput, Source
from shared.contracts.transform import DataSet, TransformInput
from shared.kinds import KINDS
from tests.support.forks import run


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_a_kind_is_a_valid_submit(kind: str) -> None:
    example = KINDS[kind].example.input

    submit = KINDS[kind].request.model_validate({"kind": kind, "input": example})

    assert type(submit.input) is KINDS[kind].input


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_of_a_kind_exists(kind: str) -> None:
    ran = run("assay", [*KINDS[kind].command.split(), "--help"], os.environ, Path.cwd())

    assert ran.status == 0, ran.talk


def test_a_transform_needs_a_model_unless_it_brings_code() -> None:
    transform = KINDS["transform"]
    data = [DataSet(csv="a\n1\n")]

    asks = TransformInput(task="Sum", data=data)
    brings = TransformInput(task="Sum", data=data, code="result = data")

    assert list(transform.needed_roles(asks)) == ["execution.transform"]
    assert list(transform.needed_roles(brings)) == []


def test_what_an_input_refers_to_is_marked_on_its_fields() -> None:
    submit = KINDS["detect"].request(
        kind="detect", input=DetectInput(source=Source(file_id="F"), definitions_version=3), conversation_id="C"
    )

    assert list(marked_values(submit)) == [
        (Reference("conversation"), ("conversation_id",), "C"),
        (Reference("file"), ("input", "source", "file_id"), "F"),
        (Reference("definitions"), ("input", "definitions_version"), 3),
    ]
    assert list(marked_values(Source(path="/src"))) == [(LocalPath(), ("path",), "/src")]
