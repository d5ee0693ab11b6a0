"""The formats of manifests: read under limits, and what is broken is reported with its line."""

from __future__ import annotations

import pytest

from services.stacks.manifests.formats import (
    Broken,
    blank_comments,
    read_documents,
    read_json,
    read_jsonc,
    read_toml,
    read_xml,
    read_yaml,
    without_comments,
)


def test_json_may_have_comments_and_trailing_commas_where_that_is_allowed() -> None:
    text = '{\n // a\n "url": "http://x", /* b\n */ "list": [1, 2,],\n}'
    assert read_jsonc(text) == {"url": "http://x", "list": [1, 2]}
    assert without_comments(text).count("\n") == text.count("\n")
    with pytest.raises(Broken) as broken:
        read_json(text)
    assert broken.value.line == 2


@pytest.mark.parametrize("text", ["[]", "3", "null", '"x"'])
def test_json_that_is_no_object_is_broken(text: str) -> None:
    with pytest.raises(Broken, match="not a JSON object"):
        read_json(text)


def test_a_fault_in_toml_has_its_line() -> None:
    with pytest.raises(Broken) as broken:
        read_toml("a = 1\nb = \n")
    assert broken.value.line == 2


def test_yaml_is_its_first_document() -> None:
    assert read_yaml("a: 1\n---\nb: 2\n") == {"a": 1}
    assert list(read_documents("a: 1\n---\nb: 2\n")) == [{"a": 1}, {"b": 2}]
    assert read_yaml("- a\n") == {}
    with pytest.raises(Broken) as broken:
        read_yaml("a: 1\n b: 2\n")
    assert broken.value.line == 2


def test_xml_is_read_without_its_namespaces_and_with_its_lines() -> None:
    project = read_xml('<?xml version="1.0"?>\n<m:project xmlns:m="x">\n <a><b> 1 </b></a>\n</m:project>')
    assert (project.tag, project.value("a", "b"), project.value("a", "c")) == ("project", "1", None)
    element = project.first("a")
    assert element is not None
    assert element.line == 3


def test_comments_become_blanks_of_the_same_length() -> None:
    assert blank_comments('a "//x" // y\nb') == 'a "//x"     \nb'
    assert blank_comments("a '#x' # y\nb", hashes=True) == "a '#x'    \nb"


def merged(levels: int) -> str:
    """A mapping that merges the one before eight times over, level after level."""
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text", [merged(9), merged(40), "a: &a [*a]", "a: &a {<<: *a}", "a: &a [x, x]\n" + "b: &b [*a, *a]\n" * 60_000]
)
def test_yaml_whose_aliases_multiply_is_broken(text: str) -> None:
    with pytest.raises(Broken):
        read_yaml(text)


def test_yaml_may_repeat_a_part_by_its_name() -> None:
    text = "x-common: &common {image: x, restart: always}\nservices:\n  web:\n    <<: *common\n    build: .\n"
    assert read_yaml(text)["services"] == {"web": {"image": "x", "restart": "always", "build": "."}}
