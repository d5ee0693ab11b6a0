import { describe, expect, it } from "vitest";
import type { Edge, Node } from "@xyflow/react";
import type { ChangeSet, FlowVersion, FlowView } from "../src/api/types";
import { along } from "../src/features/flow/canvas/arrow-moves";
import { inkOn, looks, PALETTE } from "../src/features/flow/canvas/colours";
import { after } from "../src/features/flow/history/playback";
import { aligned, distributed, savedMoves, withInside } from "../src/features/flow/canvas/arrange";
import type { Operation, Rect } from "../src/shared/flows/elements";
import { sidesFor, wayOf } from "../src/features/flow/canvas/lines";
import { drawn, type DrawnEdge, type DrawnNode } from "../src/features/flow/canvas/merged-graph";
import { curveOfLink, routed } from "../src/features/flow/canvas/routes";
import { figureOf, portOf, SHAPES, type Side } from "../src/shared/flows/shapes";
import { clipOf, copied, pasting } from "../src/features/flow/editing/clipboard";
import { nameOf, words } from "../src/features/flow/canvas/outline";
import { overlap, type Changed } from "../src/features/flow/editing/overlap";
import { theirs } from "../src/features/flow/editing/conflict";
import { said, sentence } from "../src/features/flow/editing/announcements";
import { chatTurns } from "../src/features/flow/chat/chat-turns";
import { nextSteps } from "../src/features/flow/history/undo-labels";
import { answerText } from "../src/results/answer-text";
import { chosenOf, chosenText, isShown, sightOf, sightText, viewOf } from "../src/features/flow/canvas/viewport";
import { steps, tally } from "../src/features/flow/history/versions";

const AT = "2026-01-01T00:00:00Z";

function flow(names: Record<string, [number, number]>, links: [string, string][] = [], colors: object = {}): FlowView {
  const nodes = Object.entries(names).map(([id, [x, y]]) => ({ id, position: { x, y }, data: { label: id.toUpperCase() } }));
  const edges = links.map(([source, target]) => ({ id: `${source}-${target}`, source, target }));
  return { id: "f", name: "F", version: 3, nodes, edges, settings: { colors }, created_at: AT, updated_at: AT, warnings: [] } as unknown as FlowView;
}

function version(number: number, kind: FlowVersion["kind"], name: string | null = null): FlowVersion {
  return { version: number, kind, actor: "k", actor_name: "Anne", time: AT, name, branched_from: null };
}

function change(number: number, base: number, summary: string, more: Partial<ChangeSet> = {}): ChangeSet {
  return { version: number, base_version: base, actor: "k", actor_name: "Anne", origin: "api.operations", summary, time: AT, undone: false, undone_version: null, job_id: null, tokens: null, ...more };
}

describe("versions and their origins", () => {
  it("have the sentence of their change, or say what they are", () => {
    const found = steps(
      [version(9, "undo"), version(6, "undo"), version(5, "change", "Good"), version(4, "change"), version(3, "change"), version(2, "change"), version(1, "create")],
      [change(7, 6, "addNode", { undone: true, undone_version: 9 }), change(5, 3, "updateNode"), change(2, 1, "Put a review in", { job_id: "j", tokens: 7 })],
    );
    expect(found.map((step) => step.sentence)).toEqual(["Undone: Added a node", "Undone", "Changed a node", "Part of: Changed a node", "Changed", "Put a review in", "Created"]);
    expect(found.map((step) => step.name)).toEqual([null, null, "Good", null, null, null, null]);
    expect(found[5]!.change?.tokens).toBe(7);
    expect(found[0]!.author).toBe("Anne");
  });

  it("are shown in numbers by what they changed", () => {
    const operations: Operation[] = [
      { op: "add", kind: "node", id: "a" },
      { op: "add", kind: "edge", id: "b" },
      { op: "remove", kind: "node", id: "c" },
    ];
    expect([tally(operations), tally([])]).toEqual(["2 added, 1 removed", "nothing else is in it"]);
  });

  it("are sentences where only calls were counted", () => {
    expect([sentence("addNode x2, addEdge"), sentence("addNode, and more"), sentence("Layout LR")]).toEqual(["Added 2 nodes, added a link", "addNode, and more", "Laid out, left to right"]);
  });

  it("play up to the present", () => {
    expect([after(1, 3), after(2, 3), after(3, 3)]).toEqual([2, null, null]);
  });
});

describe("the ghost of a difference", () => {
  const before = flow({ a: [0, 0], b: [200, 0] }, [["a", "b"]]);
  const now = flow({ a: [0, 0], c: [200, 100] });

  it("shows what is gone where it was, marked", () => {
    const operations: Operation[] = [
      { op: "remove", kind: "node", id: "b" },
      { op: "remove", kind: "edge", id: "a-b" },
      { op: "add", kind: "node", id: "c" },
    ];
    const { nodes, edges } = drawn(now, operations, before);
    expect(nodes.map((node) => [node.id, node.data.mark])).toEqual([["a", ""], ["c", "added"], ["b", "removed"]]); // prettier-ignore
    expect(edges.map((edge) => [edge.id, edge.data?.mark])).toEqual([["a-b", "removed"]]);
    expect(nodes.map((node) => node.data.tag)).toEqual(["", "+ new", "− removed"]);
  });

  it("is nothing without operations, whatever was before", () => {
    expect(drawn(now, [], before).nodes.map((node) => node.id)).toEqual(["a", "c"]);
  });
});

describe("arrows", () => {
  const places: Record<string, [number, number]> = { start: [0, 0], yes: [200, -60], no: [200, 60], end: [400, 0], alone: [0, 300] };
  const nodes = Object.entries(places).map(([id, [x, y]]): Node => ({ id, position: { x, y }, data: {}, width: 100, height: 40 }));
  const edges = [["start", "yes"], ["start", "no"], ["yes", "end"]].map(([source, target]): Edge => ({ id: `${source}${target}`, source: source!, target: target! })); // prettier-ignore
  const from = (id: string, ...keys: string[]): string | undefined => keys.reduce<string | undefined>((at, key) => (at === undefined ? undefined : along(nodes, edges, at, key)), id);

  it("follow edges forth and back", () => {
    expect(from("yes", "ArrowRight")).toBe("end");
    expect(from("end", "ArrowLeft", "ArrowLeft")).toBe("start");
  });

  it("go from one target of a node to another, and nowhere else", () => {
    expect(from("yes", "ArrowDown")).toBe("no");
    expect(from("no", "ArrowUp")).toBe("yes");
    expect([from("end", "ArrowRight"), from("alone", "ArrowUp"), from("start", "x")]).toEqual([undefined, undefined, undefined]);
  });

  it("lead to nothing that is hidden", () => {
    const hidden = nodes.map((node) => ({ ...node, hidden: node.id === "end" }));
    expect(along(hidden, edges, "yes", "ArrowRight")).toBeUndefined();
  });
});

describe("colours", () => {
  it("are readable with dark ink, each of ours", () => {
    expect(PALETTE.map((each) => inkOn(each.value))).toEqual(PALETTE.map(() => "#16181b"));
    expect([inkOn("#000"), inkOn("#1a192b"), inkOn("linear-gradient(#fff, #eee)"), inkOn("#0000"), inkOn("var(--x)")]).toEqual(["#ffffff", "#ffffff", "#16181b", "#16181b", undefined]);
  });

  it("of a node win over those of all; what every flow begins with is none", () => {
    const look = looks(flow({}, [], { perNode: { a: { background: "#cfe2f7" }, b: { background: "#1a192b" } }, allNodes: { background: "#222222", border: "#2b2253", text: "#ffffff" } }));
    expect(look({ id: "a" })).toEqual({ background: "#cfe2f7", text: "#16181b" });
    expect(look({ id: "b" })).toEqual({});
    expect(look({ id: "c" })).toEqual({ background: "#222222", text: "#ffffff" });
  });
});

describe("words in a color of their own", () => {
  const look = (colors: object): object => looks(flow({}, [], { perNode: { a: colors } }))({ id: "a" });

  it("are kept where they can be read, else dark or light", () => {
    expect(look({ background: "#ffffff", text: "#0000aa" })).toEqual({ background: "#ffffff", text: "#0000aa" });
    expect(look({ background: "#ffffff", text: "#dddddd" })).toEqual({ background: "#ffffff", text: "#16181b" });
    expect(look({ background: "#222222", text: "#333333" })).toEqual({ background: "#222222", text: "#ffffff" });
    expect(look({ text: "#f9f871" })).toEqual({ background: "#1a192b", text: "#f9f871" });
  });

  it("lie on white where one could see through the box", () => {
    expect(look({ background: "#ff000080" })).toEqual({ background: "#ff7f7f", text: "#16181b" });
  });
});

describe("sides of links", () => {
  const box = (x: number, y: number): Rect => ({ x, y, width: 100, height: 40 });

  it("follow the way of the flow, and lead round where it goes back", () => {
    expect(sidesFor(box(0, 0), box(200, 300), "LR")).toEqual(["right", "left"]);
    expect(sidesFor(box(0, 0), box(200, 300), "TB")).toEqual(["bottom", "top"]);
    expect(sidesFor(box(0, 300), box(0, 0), "BT")).toEqual(["top", "bottom"]);
    expect(sidesFor(box(0, 0), box(300, 10), "TB")).toEqual(["right", "left"]);
    expect(sidesFor(box(0, 300), box(0, 0), "TB")).toEqual(["right", "right"]);
    expect(sidesFor(box(300, 300), box(0, 0), "TB")).toEqual(["top", "right"]);
    expect(sidesFor(box(300, 0), box(0, 0), "LR")).toEqual(["bottom", "bottom"]);
  });

  it("are found from where most links lead", () => {
    const boxes = new Map([["a", box(0, 0)], ["b", box(0, 100)], ["c", box(200, 100)]]); // prettier-ignore
    expect(wayOf(boxes, [{ source: "a", target: "b" }])).toBe("TB");
    expect(wayOf(boxes, [{ source: "c", target: "b" }])).toBe("RL");
    expect(wayOf(boxes, [])).toBe("LR");
  });

  it("give each of two links between the same sides a lane of its own, and words that cover no node", () => {
    const two = { ...flow({ a: [0, 0], b: [600, 0], mid: [300, 30] }), edges: [{ id: "1", source: "a", target: "b" }, { id: "2", source: "a", target: "b", data: { label: "one" } }] } as unknown as FlowView;
    const { nodes, edges } = drawn(two, []);
    const links = routed(nodes, edges);
    expect(links.map((each) => [each.sourceHandle, each.targetHandle, each.data?.lane])).toEqual([["right", "left", -0.5], ["right", "left", 0.5]]); // prettier-ignore
    expect(links[1]!.data?.wordsAt).not.toBe(0.5);
    const again = routed(nodes, edges, new Map(links.map((each) => [each.id, each])));
    expect(again.every((each, at) => each === links[at])).toBe(true);
  });

  it("go round what is between their ends, each on a line of its own", () => {
    for (const column of [false, true]) {
      const at = (step: number): [number, number] => (column ? [0, step * 126] : [step * 222, 0]);
      const row = flow({ a: at(0), b: at(1), c: at(2), d: at(3) }, [["a", "b"], ["b", "c"], ["c", "d"], ["a", "c"], ["a", "d"], ["d", "a"]]); // prettier-ignore
      const { nodes, edges } = drawn(row, []);
      const links = routed(nodes, edges);
      expect(links.map((each) => each.data!.corners.length > 0)).toEqual([false, false, false, true, true, false]);
      expect(links[3]!.data!.corners).not.toEqual(links[4]!.data!.corners);
      for (const link of links) expect(crossed(nodes, link), link.id).toEqual([]);
      const again = routed(nodes, edges, new Map(links.map((each) => [each.id, each])));
      expect(again.every((each, at) => each === links[at])).toBe(true);
    }
  });

  it("that have corners cross no node in any diagram", () => {
    let seed = 7;
    const next = (most: number): number => (seed = (seed * 16807) % 2147483647) % most;
    let led = 0;
    for (let round = 0; round < 60; round += 1) {
      const ids = Array.from({ length: 4 + next(16) }, (_, index) => `n${index}`);
      const names = Object.fromEntries(ids.map((id, index) => [id, [(index % 5) * (200 + next(60)), Math.floor(index / 5) * 130 + next(40)] as [number, number]]));
      const { nodes, edges } = drawn(flow(names, [...new Set(ids.flatMap((id) => [0, 1].map(() => `${id} ${ids[next(ids.length)]!}`)))].map((pair) => pair.split(" ") as [string, string])), []); // prettier-ignore
      for (const link of routed(nodes, edges).filter((each) => each.data!.corners.length > 0)) {
        led += 1;
        expect(crossed(nodes, link), `${round} ${link.id}`).toEqual([]);
      }
    }
    expect(led).toBeGreaterThan(200);
  });
});

/** The nodes that a link lies on, but its own. */
function crossed(nodes: readonly DrawnNode[], link: DrawnEdge): string[] {
  const [source, target] = [link.source, link.target].map((id) => nodes.find((node) => node.id === id)!);
  const curve = curveOfLink(source!, target!, link.sourceHandle as Side, link.targetHandle as Side, link.data!.lane, link.data!.corners);
  const points = Array.from({ length: 199 }, (_, step) => curve.at((step + 1) / 200));
  const inside = ({ position: { x, y }, width = 0, height = 0 }: DrawnNode): boolean => points.some((point) => point.x > x && point.x < x + width && point.y > y && point.y < y + height);
  return nodes.filter((node) => node !== source && node !== target && inside(node)).map((node) => node.id);
}

describe("shapes", () => {
  it("have an outline within their box, and ports on it", () => {
    for (const [shape] of SHAPES) {
      const { outline } = figureOf(shape, 120, 60);
      const numbers = outline.match(/-?\d+(\.\d+)?/g)!.map(Number);
      expect(Math.min(...numbers), shape).toBeGreaterThanOrEqual(0);
      expect(Math.max(...numbers), shape).toBeLessThanOrEqual(120);
      for (const side of ["top", "right", "bottom", "left"] as const) {
        const { x, y } = portOf(shape, 120, 60, side);
        expect(x >= 0 && x <= 120 && y >= 0 && y <= 60, `${shape} ${side}`).toBe(true);
      }
    }
  });
});

describe("frames of groups", () => {
  const nested = {
    ...flow({}),
    nodes: [
      { id: "outer", type: "group", isCollapsed: false, position: { x: 0, y: 0 }, data: { label: "Outer" } },
      { id: "inner", type: "group", isCollapsed: false, position: { x: 0, y: 0 }, data: { label: "Inner" }, parentGroupId: "outer" },
      { id: "a", position: { x: 100, y: 100 }, data: { label: "A" }, parentGroupId: "inner" },
      { id: "b", position: { x: 400, y: 100 }, data: { label: "B" }, parentGroupId: "outer" },
      { id: "flow", type: "group", position: { x: 1000, y: 50 }, data: { label: "Flow's own" }, style: { width: 300, height: 200 } },
      { id: "c", position: { x: 20, y: 60 }, data: { label: "C" }, parentId: "flow" },
    ],
  } as unknown as FlowView;
  const { nodes } = drawn(nested, []);
  const node = (id: string) => nodes.find((each) => each.id === id)!;

  it("hold what is in them, also where positions count from the group", () => {
    expect(node("outer").data.inside).toEqual(["inner", "a", "b"]);
    expect(node("outer").position.x).toBeLessThan(node("inner").position.x);
    expect(node("flow")).toMatchObject({ position: { x: 1000, y: 50 }, width: 300, height: 200 });
    expect(node("c").position.x).toBe(1020);
  });

  it("are saved as the moves of what is in them; what counts from a moved group stays", () => {
    const to = (id: string, x: number) => [id, { x: node(id).position.x + x, y: node(id).position.y }] as const;
    const moves = savedMoves(nodes, withInside(nodes, new Map([to("outer", 50)])));
    expect(moves).toEqual([{ nodeId: "a", position: { x: 150, y: 100 } }, { nodeId: "b", position: { x: 450, y: 100 } }]); // prettier-ignore
    expect(savedMoves(nodes, withInside(nodes, new Map([to("flow", 10)])))).toEqual([{ nodeId: "flow", position: { x: 1010, y: 50 } }]);
    expect(savedMoves(nodes, new Map([to("c", 10)]))).toEqual([{ nodeId: "c", position: { x: 30, y: 60 } }]);
  });
});

describe("arranging", () => {
  const boxes = new Map(["a", "b", "c"].map((id, at): [string, Rect] => [id, { x: at * at * 100, y: at * 10, width: 50 + at * 10, height: 40 }]));

  it("aligns at an edge or in the middle, and gives each two the same gap", () => {
    expect([...aligned(boxes, "left").values()].map(({ x }) => x)).toEqual([0, 0, 0]);
    expect([...aligned(boxes, "right").values()].map(({ x }, at) => x + 50 + at * 10)).toEqual([470, 470, 470]);
    expect([...aligned(boxes, "middle").values()].map(({ y }) => y)).toEqual([10, 10, 10]);
    const xs = [...distributed(boxes, "x").values()].map(({ x }) => x);
    expect(xs[1]! - (xs[0]! + 50)).toBeCloseTo(xs[2]! - (xs[1]! + 60));
    expect(distributed(new Map([...boxes].slice(0, 2)), "x").size).toBe(0);
  });
});

describe("the clipboard", () => {
  const shop = {
    ...flow({ a: [0, 0], b: [200, 0], c: [0, 300] }, [["a", "b"], ["b", "c"]], { perNode: { b: { background: "#cfe2f7" } } }), // prettier-ignore
  };
  const grouped = {
    ...shop,
    nodes: [...shop.nodes.map((node) => (["a", "b"].includes((node as unknown as { id: string }).id) ? { ...(node as object), parentGroupId: "g" } : node)), { id: "g", type: "group", isCollapsed: false, position: { x: 5, y: 5 }, data: { label: "G" } }],
  } as unknown as FlowView;
  const count = { value: 0 };
  const newId = (label: string): string => `${label}${(count.value += 1)}`;

  it("holds what is chosen with the links between, and makes it again under other ids", () => {
    const clip = clipOf(JSON.stringify(copied(shop, ["a", "b"])))!;
    const { calls, ids } = pasting(clip, { x: 10, y: 20 }, newId);
    expect(calls.map((each) => each.name)).toEqual(["addNode", "addNode", "addEdge", "changeVisuals"]);
    expect(calls[0]!.params).toMatchObject({ id: ids[0], label: "A", position: { x: 10, y: 20 } });
    expect(calls[2]!.params).toEqual({ sourceNodeId: ids[0], targetNodeId: ids[1] });
    expect(calls[3]!.params).toMatchObject({ nodeId: ids[1], property: "background", color: "#cfe2f7" });
  });

  it("takes all of a group with it", () => {
    const { calls, ids } = pasting(copied(grouped, ["g"]), { x: 0, y: 0 }, newId);
    expect(calls.map((each) => each.name)).toEqual(["addNode", "addNode", "createGroup", "addEdge", "changeVisuals", "toggleGroupExpansion"]);
    expect(ids).toHaveLength(1);
  });

  it("is only what was copied from a flow", () => {
    expect(["hello", "{}", '{"kind":"assay.flow"}', "{"].map(clipOf)).toEqual([null, null, null, null]);
  });
});

describe("the view", () => {
  const size = { width: 1000, height: 700 };

  it("shows a part whole, under nothing that floats over it", () => {
    for (const part of [{ x: -500, y: 90, width: 46_000, height: 6_000 }, { x: 10, y: 10, width: 100, height: 40 }]) {
      const view = viewOf(part, size);
      expect(isShown(part, view, size)).toBe(true);
      expect(view.zoom).toBeLessThanOrEqual(1);
    }
    expect(isShown({ x: 0, y: 0, width: 10, height: 10 }, { x: 0, y: 0, zoom: 1 }, size)).toBe(false);
  });
});

describe("what was done", () => {
  const shop = flow({ cart: [0, 0], pay: [1, 0] }, [["cart", "pay"]]);

  it("is said by the names of nodes", () => {
    expect(said(shop, [{ name: "addEdge", params: { sourceNodeId: "cart", targetNodeId: "pay" } }])).toBe("Linked CART to PAY");
    expect(said(shop, [{ name: "updateNode", params: { nodeId: "cart", position: { x: 1, y: 1 } } }])).toBe("Moved CART");
    expect(said(shop, ["cart", "pay"].map((nodeId) => ({ name: "deleteNode", params: { nodeId } })))).toBe("Deleted CART and 1 more");
    expect(nameOf(shop, "edge", "cart-pay")).toBe("CART › PAY");
  });
});

describe("an edit of what others have changed", () => {
  const changed = (id: string, change: Changed["change"], members: string[] = [], kind: Changed["kind"] = "node"): Changed => ({ kind, id, change, members });
  const ids = (name: string, params: object, ...changes: Changed[]): string[] => overlap([{ name, params }], changes).map((each) => each.id);

  it("is in the way only where it is about the same", () => {
    const others = [changed("a", "changed", ["position"]), changed("b", "changed", ["data"]), changed("c", "removed"), changed("d", "added")];
    expect(ids("updateNode", { nodeId: "a", label: "A" }, ...others)).toEqual([]);
    expect(ids("updateNode", { nodeId: "a", position: { x: 0, y: 0 } }, ...others)).toEqual(["a"]);
    expect(ids("updateNode", { nodeId: "b", label: "B" }, ...others)).toEqual(["b"]);
    expect(ids("deleteNode", { nodeId: "a" }, ...others)).toEqual([]);
    expect(ids("deleteNode", { nodeId: "b" }, ...others)).toEqual(["b"]);
    expect(ids("addNode", { label: "E", parentNodeId: "c" }, ...others)).toEqual(["c"]);
    expect(ids("addNode", { label: "E", parentNodeId: "b" }, ...others)).toEqual([]);
    expect(ids("createGroup", { memberIds: ["a", "c"] }, ...others)).toEqual(["c"]);
  });

  it("is in the way of a colour by the setting that is of the same", () => {
    const setting = changed("/colors/nodes/a/background", "changed", [], "setting");
    expect(ids("changeVisuals", { nodeId: "a", color: "#fff" }, setting)).toEqual([setting.id]);
    expect(ids("changeVisuals", { nodeId: "b", color: "#fff" }, setting)).toEqual([]);
    expect(ids("updateNode", { nodeId: "a", label: "A" }, setting)).toEqual([]);
  });

  it("is described by the names before and now", () => {
    const [before, now] = [flow({ a: [0, 0], b: [0, 0] }), flow({ a: [0, 0] })];
    expect(theirs(before, now, changed("b", "removed"))).toBe("- B was deleted");
    expect(theirs(before, now, changed("a", "changed", ["position"]))).toBe("~ A was moved");
  });
});

describe("what is chosen and in sight", () => {
  it("is read from an address as it was written", () => {
    expect(sightOf(sightText({ x: 120.4, y: -39.6, zoom: 0.75049 }))).toEqual({ x: 120, y: -40, zoom: 0.75 });
    expect([undefined, "", "1,2", "1,2,0", "1,,2", "a,b,c"].map(sightOf)).toEqual([null, null, null, null, null, null]);
    const ids = ["a", "with, comma", "ä/%"];
    expect(chosenOf(chosenText(ids)!)).toEqual(ids);
    expect(chosenOf("a,%E0%A4,b")).toEqual(["a", "b"]);
  });

  it("is not in an address when it is nothing, or very much", () => {
    expect([chosenText([]), chosenText(Array.from({ length: 51 }, String))]).toEqual([null, null]);
    expect(chosenOf(undefined)).toEqual([]);
  });
});

describe("what would be undone", () => {
  it("is the newest change, the user's own newest, and what was undone last", () => {
    const changes = [
      change(5, 4, "deleteNode", { actor: "other" }),
      change(4, 3, "addNode", { undone: true, undone_version: 7 }),
      change(3, 2, "addEdge", { undone: true, undone_version: 8 }),
      change(2, 1, "Put a review in"),
    ];
    expect(nextSteps(changes, "k")).toEqual({ undo: "Deleted a node", mine: "Put a review in", redo: "Added a link" });
    expect(nextSteps([], "k")).toEqual({ undo: null, mine: null, redo: null });
  });
});

describe("a conversation about a flow", () => {
  const calls = [{ name: "addNode", params: { label: "Review" } }];
  const talk = (role: string, content: string, job: string | null, tool_calls: typeof calls = []) => ({ role, content, tool_calls, job_id: job });

  it("has a turn for each request, with the outcome of its last attempt", () => {
    const messages = [
      talk("user", "Put a review in", "j"),
      talk("assistant", "<response>[]</response>", "j"),
      talk("user", "Previous tool execution results: ...", "j"),
      talk("assistant", "<thinking>x</thinking><response>[{}]</response>", "j", calls),
      talk("user", "Why?", "k"),
      talk("assistant", "<thinking>x</thinking><response>Because.</response>", "k"),
    ];
    expect(chatTurns(flow({}), messages)).toEqual([
      { job: "j", asked: "Put a review in", answered: "Added Review", attempts: 2 },
      { job: "k", asked: "Why?", answered: "Because.", attempts: 1 },
    ]);
  });

  it("is read without the tags of the answers", () => {
    expect(["<thinking>a</thinking>\nYes", "<response>Yes", "Yes", '<response>[{"a": 1}]</response>', ""].map(answerText)).toEqual(["Yes", "Yes", "Yes", "", ""]);
  });

  it("proposes edges by the names of their ends", () => {
    const name = (id: string): string => id.toUpperCase();
    expect(words({ op: "add", kind: "edge", id: "e", value: { source: "a", target: "b" } }, name)).toBe("+ edge A › B");
    expect(words({ op: "remove", kind: "node", id: "a" }, name)).toBe("- node A");
  });
});
