"""The canvas of flows: everything on it can be read, and everything can be done by keys, by a menu and by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.accessibility import Scheme, expect_accessible_as_it_is
from tests.console.conftest import Console, Visit

pytestmark = [pytest.mark.slow(seconds=6), pytest.mark.timeout(240)]

_SHOP = "flowchart LR\n  cart[Cart] -->|then| payment[Payment]\n  payment --> receipt[Receipt]\n"
_ALL_SHAPES = """flowchart TD
  a[Box] -->|yes| b(Round) -.->|dotted| c([Start]) ==> d[[Sub]]
  e[(Store)] --- f((Circle)) -.- g(((Double))) === h{Decision}
  i{{Hexagon}} --> j[/Lean/] --> k[\\Back\\] --> l[/Trap\\] --> m[\\Down/] --> n>Flag]
  subgraph one [Open group]
    o[Member] -->|within| p[Another]
  end
  a --> a
  p -->|back| a
"""
#: Pale, dark, clear and of several colors.
_PAINTS = {"c": "#faedb5", "e": "#123456", "f": "rgba(200, 30, 30, 0.4)", "i": "linear-gradient(#ffd, #fed)"}
#: All texts of the canvas and what floats over it, with their contrast to what is behind them.
_CONTRASTS = """(ratio) => {
    const scratch = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const bytes = (color) => {
        scratch.clearRect(0, 0, 1, 1);
        scratch.fillStyle = color;
        scratch.fillRect(0, 0, 1, 1);
        return [...scratch.getImageData(0, 0, 1, 1).data];
    };
    const over = ([r, g, b, a], below) => [r, g, b].map((part, at) => (part * a + below[at] * (255 - a)) / 255);
    const light = (rgb) => {
        const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = rgb.map((part) => linear(part / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [a, b] = [light(one), light(other)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    };
    // What is behind an element: several colors where it is a gradient.
    const behind = (element) => {
        if (element === null) return [[255, 255, 255]];
        const figure = element.matches(".node.figure") ? element.querySelector(":scope > svg > .outline") : null;
        const style = getComputedStyle(element.querySelector(":scope > .paint") ?? element);
        const colors = [figure === null ? style.backgroundColor : getComputedStyle(figure).fill];
        const painted = style.backgroundImage.match(/rgba?\\([^)]*\\)/g) ?? [];
        const layers = (painted.length > 0 ? painted : colors).map(bytes).filter(([, , , a]) => a > 0);
        if (layers.length > 0 && layers.every(([, , , a]) => a === 255)) return layers.map(([r, g, b]) => [r, g, b]);
        const below = behind(element.parentElement);
        return layers.length === 0 ? below : layers.flatMap((layer) => below.map((each) => over(layer, each)));
    };
    const texts = [];
    for (const element of document.querySelectorAll(".canvas-side *, .context-menu *, .looks *")) {
        const own = [...element.childNodes].filter((each) => each.nodeType === 3);
        const words = own.map((each) => each.data.trim()).join("");
        if (words === "" || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
        if (element.closest("[data-disabled], :disabled, title, .unseen") !== null) continue;
        const ink = bytes(getComputedStyle(element).color);
        const worst = Math.min(...behind(element).map((each) => contrast(over(ink, each), each)));
        texts.push([words.slice(0, 40), Math.round(worst * 100) / 100]);
    }
    return { read: texts.map(([words]) => words), faults: texts.filter(([, worst]) => worst < ratio) };
}"""
_ENOUGH = 4.5
_PATHS = "all => all.map(one => one.getAttribute('d'))"


@pytest.fixture
def flow(console: Console) -> Iterator[str]:
    """The id of a flow of three nodes."""
    yield from _imported(console, _SHOP)


@pytest.fixture
def shapes(console: Console) -> Iterator[str]:
    """The id of a flow with every shape and line, labels, colors, sizes, and an open and a folded group."""
    for made in _imported(console, _ALL_SHAPES):
        _operate(
            console,
            made,
            ("updateNode", {"nodeId": "h", "description": "Whether it is so"}),
            ("updateNode", {"nodeId": "b", "description": "Too long for it", "size": {"width": 90, "height": 60}}),
            *[_paint(node, color) for node, color in _PAINTS.items()],
            _paint("j", "#222", "text"),
            _paint("k", "#999", "text"),
            _paint("k", "#fff"),
            ("createGroup", {"memberIds": ["l", "m"], "label": "Folded", "id": "folded"}),
            ("addEdge", {"sourceNodeId": "a", "targetNodeId": "n", "line": "invisible", "label": "unseen line"}),
        )  # fmt: skip
        yield made


def _paint(node: str, color: str, part: str = "background") -> tuple[str, dict[str, Any]]:
    return "changeVisuals", {"target": "node", "nodeId": node, "color": color, "property": part}


def _imported(console: Console, text: str) -> Iterator[str]:
    with console.api as api:
        made = api.post("/v1/flows/import", json={"format": "mermaid", "text": text, "name": "Canvas"}).json()
        yield made["id"]
        api.delete(f"/v1/flows/{made['id']}")


def _operate(console: Console, flow: str, *calls: tuple[str, dict[str, Any]]) -> None:
    body = {"tool_calls": [{"name": name, "params": params} for name, params in calls], "atomic": True}
    with console.api as api:
        answer = api.post(f"/v1/flows/{flow}/operations", json=body)
    assert answer.json()["success"], answer.text


def _saved(console: Console, flow: str) -> dict[str, Any]:
    with console.api as api:
        return dict(api.get(f"/v1/flows/{flow}").json())


def _labels(console: Console, flow: str) -> list[str]:
    return sorted(node["data"]["label"] for node in _saved(console, flow)["nodes"])


def _opened(page: Page, flow: str, nodes: int) -> Locator:
    page.goto(f"/flows/{flow}")
    drawn = page.locator(".react-flow__node")
    expect(drawn).to_have_count(nodes)
    return drawn


def _done(page: Page) -> Locator:
    return page.get_by_role("status", name="What was done")


def _read(page: Page, what: str, *words: str) -> None:
    """See that all texts have contrast enough, and that these are among them."""
    page.mouse.move(2, 2)
    found = page.evaluate(_CONTRASTS, _ENOUGH)
    assert found["faults"] == [], f"{what}: {found['faults']}"
    assert not set(words) - set(found["read"]), f"{what}: of {found['read']}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_on_the_canvas_can_be_read_in_every_state(
    visit: Visit, console: Console, shapes: str, flow: str, scheme: Scheme
) -> None:
    page = visit(scheme=scheme).tab()
    page.goto(f"/flows/{shapes}")
    node, words = page.locator(".react-flow__node"), page.locator(".link-words")
    expect(node.filter(has_text="Folded")).to_be_visible()
    _read(page, "at rest", "yes", "dotted", "within", "Open group", "Folded", "Decision", "Whether it is so", "Flag")
    for name in ("Decision", "Store", "Circle", "Folded", "Open group"):
        node.filter(has_text=name).first.press("Enter")
        _read(page, f"{name} is chosen", name)
    page.locator(".react-flow__edge").first.dispatch_event("click")
    expect(words.filter(has_text="yes")).to_have_class(re.compile("selected"))
    _read(page, "a link is chosen", "yes")
    node.filter(has_text="Box").click(button="right")
    _read(page, "a menu", "Rename", "Delete")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+a")
    _read(page, "all are chosen", "Decision")
    page.get_by_role("button", name="Color").click()
    _read(page, "colors", "Teal")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.get_by_label("Text of the new node")).to_be_focused()
    _read(page, "a node is written")
    page.keyboard.press("Escape")
    for paint in ("#ffe9c9", "#101418", "linear-gradient(180deg, #0f0a1a, #f0f0ff)"):
        _operate(console, shapes, ("changeVisuals", {"target": "background", "color": paint}))
        expect(page.locator(".canvas")).to_have_class(re.compile("own-look"))
        _read(page, f"on {paint}", "yes", "Open group", "Decision")

    _operate(console, flow, ("updateNode", {"nodeId": "receipt", "label": "Bill"}), ("deleteNode", {"nodeId": "cart"}))
    page.goto(f"/flows/{flow}?version=1")
    expect(page.get_by_role("button", name="Restore version 1").first).to_be_visible()
    expect(words.filter(has_text="then")).to_be_visible()
    _read(page, "an earlier version", "Cart", "then")
    _operate(console, flow, ("addNode", {"label": "Late", "parentNodeId": "payment", "edgeLabel": "new"}))
    page.goto(f"/flows/{flow}?version=2")
    expect(page.locator(".node.removed")).to_be_visible()
    _read(page, "what a version removed", "Cart", "− removed", "~ was “Receipt”")
    page.locator(".change-tag").first.evaluate("tag => { tag.style.color = 'var(--bg-muted)'; }")
    assert page.evaluate(_CONTRASTS, _ENOUGH)["faults"], "what cannot be read is found"


def test_a_proposal_is_brought_into_view_and_can_be_read(visit: Visit, console: Console, flow: str) -> None:
    job = console.run("flow", flow_id=flow, message="Put a review before the payment", mode="propose")
    page = visit().tab()
    page.goto(f"/flows/{flow}?sight=9000,9000,1&proposal={job['result']['proposal_id']}")
    added = page.locator(".react-flow__node", has=page.locator(".node.added"))
    expect(added).to_be_in_viewport()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        _read(page, f"a proposal, {scheme}", "Review", "+ new", "then")
    expect_accessible_as_it_is(page, "a proposal on the canvas")


def test_keys_undo_redo_rename_duplicate_copy_paste_and_delete(page: Page, console: Console, flow: str) -> None:
    nodes = _opened(page, flow, 3)
    done = _done(page)
    cart = nodes.filter(has_text="Cart")
    cart.press("Enter")
    page.keyboard.press("F2")
    field = page.get_by_label("Text of the node")
    expect(field).to_have_value("Cart")
    field.fill("Basket")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.keyboard.press("F2")
    field.fill("Basket")
    page.keyboard.press("Enter")
    expect(done).to_have_text("Renamed Cart to Basket")
    expect(nodes.filter(has_text="Basket")).to_be_focused()
    for keys, words, label in (
        ("Control+z", "Undone: Changed a node", "Cart"),
        ("Control+Shift+Z", "Redone: Changed a node", "Basket"),
        ("Control+z", "Undone: Changed a node", "Cart"),
        ("Control+y", "Redone: Changed a node", "Basket"),
    ):
        page.keyboard.press(keys)
        expect(done).to_have_text(words)
        expect(nodes.filter(has_text=label)).to_be_visible()

    page.keyboard.press("Control+a")
    expect(page.locator(".react-flow__node.selected")).to_have_count(3)
    page.keyboard.press("Control+d")
    expect(nodes).to_have_count(6)
    expect(done).to_have_text("Duplicated 3 nodes")
    assert len(_saved(console, flow)["edges"]) == 4, "the links between them too"
    expect(page.locator(".react-flow__node.selected")).to_have_count(3)
    page.keyboard.press("Delete")
    expect(nodes).to_have_count(3)
    nodes.filter(has_text="Basket").press("Enter")
    page.keyboard.press("Control+c")
    page.keyboard.press("Control+v")
    expect(nodes).to_have_count(4)
    expect(done).to_have_text("Pasted 1 node")
    page.keyboard.press("Control+v")
    expect(nodes).to_have_count(5)
    places = [node["position"]["x"] for node in _saved(console, flow)["nodes"] if node["data"]["label"] == "Basket"]
    assert len(set(places)) == 3, "each copy stands off the one before it"
    page.keyboard.press("Control+x")
    expect(nodes).to_have_count(4)
    page.keyboard.press("Escape")
    expect(page.locator(".react-flow__node.selected")).to_have_count(0)
    page.keyboard.press("Backspace")
    assert _labels(console, flow) == ["Basket", "Basket", "Payment", "Receipt"]


def test_keys_group_with_a_name_ungroup_add_and_link(page: Page, console: Console, flow: str) -> None:
    nodes = _opened(page, flow, 3)
    done = _done(page)
    nodes.filter(has_text="Cart").press("Enter")
    nodes.filter(has_text="Payment").press("Control+Enter")
    page.keyboard.press("Control+g")
    name = page.get_by_label("Name of the group")
    expect(name).to_be_focused()
    page.keyboard.type("Checkout")
    page.keyboard.press("Enter")
    frame = page.locator(".react-flow__node", has=page.locator(".node.open"))
    expect(frame).to_contain_text("Checkout")
    expect(nodes).to_have_count(4)
    group = next(node for node in _saved(console, flow)["nodes"] if node["type"] == "group")
    assert group["data"]["label"] == "Checkout"
    assert group["isCollapsed"] is False
    page.keyboard.press("Control+Shift+G")
    expect(frame).to_have_count(0)
    expect(done).to_have_text("Dissolved the group Checkout")
    assert len(_labels(console, flow)) == 3

    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.type("Stock")
    page.keyboard.press("Enter")
    stock = nodes.filter(has_text="Stock")
    expect(stock).to_be_focused()
    page.keyboard.press("l")
    page.get_by_label("Link the chosen node to").fill("Receipt")
    page.keyboard.press("Enter")
    expect(done).to_have_text("Linked Stock to Receipt")
    expect(stock).to_be_focused()
    page.keyboard.press("Control+f")
    expect(page.get_by_label("Find a node")).to_be_focused()
    page.keyboard.type("cart")
    page.keyboard.press("Enter")
    expect(page.locator(".react-flow__node.selected")).to_contain_text("Cart")
    _expect_in_the_middle(page, nodes.filter(has_text="Cart"))


def _expect_in_the_middle(page: Page, node: Locator) -> None:
    canvas, box = page.locator(".canvas").bounding_box(), node.bounding_box()
    assert canvas is not None
    assert box is not None
    assert abs(box["x"] + box["width"] / 2 - canvas["x"] - canvas["width"] / 2) < 3
    assert abs(box["y"] + box["height"] / 2 - canvas["y"] - canvas["height"] / 2) < 3


def test_a_menu_does_the_same_and_double_clicks_write(page: Page, console: Console, flow: str) -> None:
    nodes = _opened(page, flow, 3)
    done = _done(page)
    menu = page.get_by_role("menu")
    nodes.filter(has_text="Payment").click(button="right")
    expect(menu.get_by_role("menuitem")).to_contain_text(
        ["Rename", "New node after it", "Link to…", "Copy", "Duplicate", "Delete"]
    )
    menu.get_by_role("menuitem", name="Duplicate").click()
    expect(nodes).to_have_count(4)
    nodes.filter(has_text="Receipt").focus()
    page.keyboard.press("ContextMenu")
    menu.get_by_role("menuitem", name="Delete").click()
    expect(nodes.filter(has_text="Receipt")).to_have_count(0)
    nodes.filter(has_text="Cart").dblclick()
    page.get_by_label("Text of the node").fill("Basket")
    page.keyboard.press("Enter")
    expect(done).to_have_text("Renamed Cart to Basket")
    page.locator(".react-flow__edge-interaction").first.dispatch_event("dblclick")
    expect(page.get_by_role("textbox", name="Words on the link")).to_have_value("then")
    page.get_by_role("textbox", name="Words on the link").fill("at last")
    page.keyboard.press("Enter")
    expect(page.locator(".link-words", has_text="at last")).to_be_visible()
    pane = page.locator(".react-flow__pane")
    pane.click(button="right", position={"x": 200, "y": 700})
    expect(menu.get_by_role("menuitem")).to_contain_text(["New node here", "Select all", "Fit to screen"])
    page.keyboard.press("Escape")
    pane.dblclick(position={"x": 300, "y": 660})
    page.get_by_label("Text of the new node").fill("Here")
    page.keyboard.press("Enter")
    here = nodes.filter(has_text="Here")
    expect(here).to_be_visible()
    canvas, box = page.locator(".canvas").bounding_box(), here.bounding_box()
    assert canvas is not None
    assert box is not None
    assert abs(box["x"] + box["width"] / 2 - canvas["x"] - 300) < 12
    assert abs(box["y"] + box["height"] / 2 - canvas["y"] - 660) < 24


def test_links_get_other_ends_and_nodes_other_sizes_shapes_and_places(page: Page, console: Console, flow: str) -> None:
    _operate(console, flow, ("addNode", {"label": "Refund", "id": "refund", "position": {"x": 444, "y": 300}}))
    nodes = _opened(page, flow, 4)
    page.keyboard.press("Shift+Digit1")
    nodes.filter(has_text="Payment").click()
    page.locator(".react-flow__edge").last.dispatch_event("click")
    receipt, refund = (nodes.filter(has_text=name).bounding_box() for name in ("Receipt", "Refund"))
    assert receipt is not None
    assert refund is not None
    _drag(
        page,
        (receipt["x"] - 3, receipt["y"] + receipt["height"] / 2),
        (refund["x"], refund["y"] + refund["height"] / 2),
    )
    expect(_done(page)).to_have_text("Gave the link Payment › Receipt another end")
    assert ("payment", "refund") in [(edge["source"], edge["target"]) for edge in _saved(console, flow)["edges"]]

    nodes.filter(has_text="Refund").click()
    corner = page.locator(".react-flow__node.selected .corner.se").bounding_box()
    assert corner is not None
    _drag(page, (corner["x"] + 5, corner["y"] + 5), (corner["x"] + 65, corner["y"] + 85))
    expect(_done(page)).to_have_text("Resized Refund")
    size = _saved(console, flow)["settings"]["dimensions"]["node"]["overrides"]["refund"]
    assert size["width"] > 172
    assert size["height"] > 100
    page.get_by_role("button", name="Shape").click()
    page.get_by_role("menuitem", name="Decision").click()
    expect(page.locator(".node[data-shape=diamond]")).to_contain_text("Refund")
    page.get_by_role("button", name="Description").click()
    page.get_by_label("Description").last.fill("Money back")
    page.keyboard.press("Escape")
    expect(nodes.filter(has_text="Refund")).to_contain_text("Money back")

    page.keyboard.press("Control+a")
    page.get_by_role("button", name="Align and distribute").click()
    page.get_by_role("menuitem", name="Align left").click()
    expect(_done(page)).to_have_text(re.compile("^Moved "))
    assert len({node["position"]["x"] for node in _saved(console, flow)["nodes"]}) == 1
    page.get_by_role("button", name="Align and distribute").click()
    page.get_by_role("menuitem", name="Distribute vertically").click()
    expect(page.get_by_text("version 8", exact=True)).to_be_visible()
    boxes = sorted((box["y"], box["height"]) for box in (each.bounding_box() for each in nodes.all()) if box)
    gaps = [lower[0] - upper[0] - upper[1] for upper, lower in pairwise(boxes)]
    assert max(gaps) - min(gaps) < 1, "the same gap between each two"


def _drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_links_meet_the_sides_that_the_direction_of_the_flow_says(page: Page, console: Console, flow: str) -> None:
    def ends() -> list[list[float]]:
        """Where each link begins and ends, from the middle of its node."""
        return [
            [float(number) for number in re.findall(r"-?[\d.]+", path)]
            for path in page.locator(".react-flow__edge-path").evaluate_all(
                "all => all.map(one => one.getAttribute('d'))"
            )
        ]

    _opened(page, flow, 3)
    assert all(abs(path[1] - path[-1]) < 1 and path[0] < path[-2] for path in ends()), "straight to the right"
    page.get_by_role("button", name="Auto-layout").click()
    page.get_by_role("menuitem", name="Top to bottom").click()
    expect(page.get_by_text("version 2", exact=True)).to_be_visible()
    page.wait_for_function("document.querySelectorAll('.react-flow__edge-path').length === 2")
    assert all(abs(path[0] - path[-2]) < 1 and path[1] < path[-1] for path in ends()), "straight down"


def test_pictures_are_what_is_drawn(visit: Visit, console: Console, shapes: str, tmp_path: Path) -> None:
    visitor = visit()
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visitor.tab()
    page.goto(f"/flows/{shapes}")
    expect(page.locator(".react-flow__node", has_text="Folded")).to_be_visible()

    def export(item: str) -> bytes:
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=item, exact=True).click()
        return Path(download.value.path()).read_bytes()

    svg = export("SVG").decode()
    labels = page.locator(".react-flow__node .node-label").all_inner_texts()
    assert len(labels) > 12
    missing = [label for label in labels if f">{label}<" not in svg]
    assert missing == []
    assert svg.count("<path") > len(labels)
    assert "yes" in svg
    png = export("PNG")
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    page.get_by_role("button", name="Export").click()
    page.get_by_role("menuitem", name="Copy to the clipboard").click()
    expect(page.get_by_text("The picture is in the clipboard.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.read().then((all) => all[0].types)") == ["image/png"]


_COUNT_PARTS = """
    window.mostParts = 0;
    new MutationObserver(() => {
        const parts = document.querySelectorAll(".react-flow__node, .react-flow__edge, .link-words").length;
        window.mostParts = Math.max(window.mostParts, parts);
    }).observe(document, { childList: true, subtree: true });
"""


def test_a_large_flow_opens_whole_and_nothing_floats_over_it(page: Page, console: Console) -> None:
    nodes = [
        {"id": f"n{at}", "position": {"x": at % 70 * 230, "y": at // 70 * 130}, "data": {"label": f"Step {at}"}}
        for at in range(5_000)
    ]
    edges = [
        {"id": f"e{at}", "source": f"n{at}", "target": f"n{at + 1}", "data": {"label": f"then {at}"}}
        for at in range(4_999)
    ]
    page.add_init_script(_COUNT_PARTS)
    with console.api as api:
        made = api.post("/v1/flows", json={"name": "Large", "nodes": nodes, "edges": edges}).json()["id"]
        page.goto(f"/flows/{made}")
        expect(page.locator(".overview")).to_be_visible()
        assert page.evaluate("window.mostParts") < 50, "no node and no link was ever drawn as an element"
        left, top, right, bottom = page.evaluate(
            """() => {
                const view = new DOMMatrix(getComputedStyle(document.querySelector(".react-flow__viewport")).transform);
                const canvas = document.querySelector(".canvas").getBoundingClientRect();
                const [w, h] = [69 * 230 + 172, 71 * 130 + 76];
                const tools = document.querySelector(".canvas-tools").getBoundingClientRect();
                const [right, bottom] = [view.e + w * view.a, view.f + h * view.a];
                return [view.e - (tools.right - canvas.left), view.f, canvas.width - right, canvas.height - bottom];
            }"""
        )
        assert min(left, top, right, bottom) > 0, "all of it is in view, next to the tools"
        assert page.locator("main *").count() < 1_500
        page.keyboard.press("Control+f")
        expect(page.get_by_label("Find a node")).to_be_focused()
        page.keyboard.type("Step 4321")
        page.keyboard.press("Enter")
        found = page.locator(".react-flow__node.selected")
        expect(found).to_have_text("Step 4321")
        _expect_in_the_middle(page, found)
        for part in (".zoom-bar", ".minimap"):
            box, canvas = page.locator(part).bounding_box(), page.locator(".canvas").bounding_box()
            assert box is not None
            assert canvas is not None
            assert box["y"] >= canvas["y"] + canvas["height"], f"{part} is below the canvas"
        api.delete(f"/v1/flows/{made}")


def test_a_group_is_moved_with_what_is_in_it(page: Page, console: Console, flow: str) -> None:
    _operate(
        console, flow,
        ("createGroup", {"memberIds": ["cart", "payment"], "label": "Checkout", "id": "g"}),
        ("toggleGroupExpansion", {"groupId": "g", "expand": True}),
    )  # fmt: skip
    before = {node["id"]: node["position"] for node in _saved(console, flow)["nodes"]}
    _opened(page, flow, 4)
    frame = page.locator(".react-flow__node.is-frame").bounding_box()
    assert frame is not None
    _drag(
        page, (frame["x"] + frame["width"] - 20, frame["y"] + 12), (frame["x"] + frame["width"] - 20, frame["y"] + 112)
    )
    expect(_done(page)).to_have_text("Moved Cart and 1 more")
    after = {node["id"]: node["position"] for node in _saved(console, flow)["nodes"]}
    moved = {key: round(after[key]["y"] - before[key]["y"], 1) for key in ("cart", "payment", "receipt")}
    assert moved["cart"] == moved["payment"] > 50
    assert moved["receipt"] == 0
