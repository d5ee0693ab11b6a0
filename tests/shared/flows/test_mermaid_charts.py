"""Three hundred charts read as Mermaid's own parser reads them: nodes, labels, edges, lines, groups."""

from __future__ import annotations

import html
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from shared.errors import InvalidRequest
from shared.flows.document import Kind, label_of, text_of
from shared.flows.forms.mermaid_import import read_mermaid
from tests.shared.flows.mermaid_charts import charts

VERDICTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("mermaid_verdicts.json").read_text("utf-8"))
CHARTS = charts()


class _Shown(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.text += "\n" if tag == "br" else ""


def shown(label: str, kind: str | None) -> str:
    """Return what a browser shows of a label of Mermaid's parser, with single spaces."""
    label = re.sub(r"ﬂ°°(\w+)¶ß", r"&#\1;", label)
    label = re.sub(r"ﬂ°(\w+)¶ß", r"&\1;", label)
    if kind == "markdown":
        label = re.sub(r"\*{1,2}([^*]+)\*{1,2}", r"\1", label)
    parser = _Shown()
    parser.feed(label)
    parser.close()
    return " ".join(html.unescape(parser.text).split())


def differences(number: int) -> list[str]:
    """Return where our reading of a chart differs from Mermaid's."""
    wanted = VERDICTS[number]
    document, _ = read_mermaid(CHARTS[number])
    groups = {group: (title, members) for group, title, members in wanted["groups"]}
    labels = {key: shown(label, kind) for key, (label, kind) in wanted["nodes"].items() if key not in groups}
    ours = {key: " ".join(label_of(item.body).split()) for key, item in document.nodes.items()}
    ours_groups = [key for key, item in document.nodes.items() if item.body["type"] == "group"]
    found = []
    if labels != {key: label for key, label in ours.items() if key not in ours_groups}:
        found.append(f"nodes {labels} != {ours}")
    lines = {"normal": ("arrow", "open"), "dotted": ("dotted", "dotted_open"), "thick": ("thick", "thick_open")}
    edges = [
        (
            source,
            target,
            shown(label, kind),
            "invisible" if stroke == "invisible" else lines[stroke][end == "arrow_open"],
        )
        for source, target, label, stroke, end, kind in wanted["edges"]
    ]
    our_edges = [
        (text_of(body, "source"), text_of(body, "target"), " ".join(label_of(body).split()), _line(body))
        for body in document.listed(Kind.EDGE)
    ]
    if edges != our_edges:
        found.append(f"edges {edges} != {our_edges}")
    inside = {member: group for group, (_, members) in groups.items() for member in members}
    named = dict(zip([group for group, *_ in wanted["groups"]], groups, strict=True))
    of_title = {title: key for key, title in ours.items() if key in ours_groups}
    titles = {group: shown(title, None) for group, (title, _) in groups.items()}
    same = {group: group if group in ours_groups else of_title.get(titles[group], "") for group in named}
    if sorted(same.values()) != sorted(ours_groups):
        found.append(f"groups {titles} != {ours_groups}")
    our_inside = {key: text_of(item.body, "parentGroupId") for key, item in document.nodes.items()}
    wanted_inside = {same.get(member, member): same[group] for member, group in inside.items()}
    if {key: group for key, group in our_inside.items() if group} != wanted_inside:
        found.append(f"members {wanted_inside} != {our_inside}")
    return found


def _line(body: Any) -> str:
    data = body.get("data")
    return str(data.get("line", "arrow")) if isinstance(data, dict) else "arrow"


#: Inside of a subgraph, Mermaid's parser takes the text of `accTitle: Orders` for a member that is not a node.
SLIPS = {283}
ACCEPTED = [number for number, verdict in enumerate(VERDICTS) if "refused" not in verdict and number not in SLIPS]


def test_the_verdicts_are_of_these_charts() -> None:
    assert len(CHARTS) == len(VERDICTS) == 300
    assert len(set(CHARTS)) > 270
    assert len(ACCEPTED) > 280


@pytest.mark.parametrize("number", ACCEPTED)
def test_a_chart_is_read_as_mermaid_reads_it(number: int) -> None:
    assert differences(number) == [], CHARTS[number]


@pytest.mark.parametrize(
    ("text", "nodes", "edges"),
    [
        ("A -->\n  B --> C\n  D --> E", "A B C D E", "A-B B-C D-E"),
        ("A\n--> B\n  C --> D", "A B C D", "A-B C-D"),
        ("A -->\n\n  %% a comment\n  B", "A B", "A-B"),
        ("X\n  A --> B -->\nY", "X A B Y", "A-B B-Y"),
        ("a:b[x]:::k --> c:d\n  classDef k fill:red", "a:b c:d", "a:b-c:d"),
        ("a: --> :b\n  a::b --> c", "a: :b a::b c", "a:-:b a::b-c"),
        ("A/B --> C\n  A*B --> C+D\n  #a --> b!", "A/B C A*B C+D #a b!", "A/B-C A*B-C+D #a-b!"),
        ("A & B & C -- all --> D & E", "A B C D E", "A-D A-E B-D B-E C-D C-E"),
    ],
)
def test_links_over_lines_and_rare_ids_are_read_as_mermaid_reads_them(text: str, nodes: str, edges: str) -> None:
    document, warnings = read_mermaid(f"flowchart LR\n  {text}")
    assert list(document.nodes) == nodes.split()
    bodies = [item.body for item in document.edges.values()]
    assert [f"{text_of(body, 'source')}-{text_of(body, 'target')}" for body in bodies] == edges.split()
    assert warnings == []


def test_a_link_without_an_end_is_reported() -> None:
    document, warnings = read_mermaid("flowchart LR\n  A -->\n  style B fill:red\n  B --> C")
    assert list(document.nodes) == ["B", "C"]
    assert [warning.line for warning in warnings] == [2, 3]


@pytest.mark.parametrize(
    "number", [n for n, verdict in enumerate(VERDICTS) if "not a flowchart" in verdict.get("refused", "")]
)
def test_another_kind_of_diagram_is_refused_by_name(number: int) -> None:
    with pytest.raises(InvalidRequest, match=r"this is a \w+Diagram"):
        read_mermaid(CHARTS[number])


@pytest.mark.parametrize(
    "number", [n for n, verdict in enumerate(VERDICTS) if "Parse error" in verdict.get("refused", "")]
)
def test_what_mermaid_does_not_parse_comes_with_a_warning_or_in_full(number: int) -> None:
    document, warnings = read_mermaid(CHARTS[number])
    assert warnings or len(document.nodes) == 2


@pytest.mark.parametrize(
    ("statement", "label", "shape"),
    [
        ("A[/Order form/]", "Order form", "parallelogram"),
        ("A[\\Receipt\\]", "Receipt", "parallelogram_back"),
        ("A(((Stop)))", "Stop", "double_circle"),
        ('A["first line\nsecond line"]', "first line\nsecond line", None),
        ("A[one<br/>two]", "one\ntwo", None),
        ('A["`**bold**\nnext`"]', "bold\nnext", None),
        ('A@{ shape: cyl, label: "Sort the files" }', "Sort the files", "cylinder"),
        ("A>flag]", "flag", "flag"),
        ('A["#quot;x#quot; &lt; #35;"]', '"x" < #', None),
    ],
)
def test_labels_and_shapes(statement: str, label: str, shape: str | None) -> None:
    document, _ = read_mermaid(f"flowchart TD\n  {statement} --> B")
    data = document.nodes["A"].body["data"]
    assert isinstance(data, dict)
    assert (data["label"], data.get("shape")) == (label, shape)
    assert len(document.edges) == 1


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("A <--> B", ["A <--> B (an arrow head at the beginning of a link is left out)"]),
        ("A --o B", ["A --o B (a circle at the end of a link is left out)"]),
        ("A -.- B", []),
        ("A === B", []),
        (
            'A@{ shape: manual-file, label: "x" } --> B',
            ['A@{ shape: manual-file, label: "x" } --> B (the shape manual-file is left out)'],
        ),
        (
            "A --> B\n  style A fill:#fff,stroke-width:4px",
            ["style A fill:#fff,stroke-width:4px (stroke-width is left out)"],
        ),
        ("A --> B\n  linkStyle 0 stroke:red", ["linkStyle 0 stroke:red"]),
        ("A[<b>x</b>] --> B", ["A[<b>x</b>] --> B (markup of a text is left out)"]),
    ],
)
def test_only_the_ornament_of_a_statement_is_lost_and_that_is_said(line: str, lost: list[str]) -> None:
    document, warnings = read_mermaid(f"flowchart LR\n  {line}")
    assert [warning.text for warning in warnings] == lost
    assert (list(document.nodes), len(document.edges)) == (["A", "B"], 1)


def test_classes_color_their_nodes_and_a_style_of_the_node_wins() -> None:
    text = (
        "flowchart LR\n  A:::hot --> B\n  classDef hot fill:#f96,stroke:#333\n  class B,C hot\n  C\n  style C fill:#fff"
    )
    document, warnings = read_mermaid(text)
    colors = {pointer: item.body["value"] for pointer, item in document.settings.items()}
    assert warnings == []
    assert colors == {
        "/colors/perNode/A/background": "#f96",
        "/colors/perNode/A/border": "#333",
        "/colors/perNode/B/background": "#f96",
        "/colors/perNode/B/border": "#333",
        "/colors/perNode/C/background": "#fff",
        "/colors/perNode/C/border": "#333",
    }


def test_a_chain_goes_on_in_the_lines_that_follow() -> None:
    document, warnings = read_mermaid("flowchart LR\n  A\n    --> B\n    --> C -->\n      D\n  E")
    assert [(body["source"], body["target"]) for body in document.listed(Kind.EDGE)] == [
        ("A", "B"),
        ("B", "C"),
        ("C", "D"),
    ]
    assert (list(document.nodes), warnings) == (["A", "B", "C", "D", "E"], [])


@pytest.mark.slow
def test_hostile_charts_are_read_in_time() -> None:
    for text in (
        "A[" * 20_000,
        'A["' * 20_000,
        "A --" * 20_000,
        "A@{" * 20_000,
        "subgraph a\n" * 5_000,
        "A & " * 20_000,
        "%%{" * 20_000,
    ):
        began = time.process_time()
        read_mermaid(f"flowchart LR\n{text}")
        assert time.process_time() - began < 10, text[:20]
