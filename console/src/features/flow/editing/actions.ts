import { useEffect, useRef, useState, type RefObject } from "react";
import type { FlowView } from "../../../api/types";
import { toast } from "../../../shared/page/toasts";
import { aligned, distributed, type Alignment } from "../canvas/arrange";
import type { CanvasHandle } from "../canvas/arrow-keys";
import { around } from "../../../shared/flows/boxes";
import { edgesOf, isGroup, labelOf, nodesOf, type Line, type Point, type Rect } from "../../../shared/flows/elements";
import type { Shape } from "../../../shared/flows/shapes";
import type { ToolCall } from "./announcements";
import { clipOf, copied, freshId, pasting } from "./clipboard";
import type { Written } from "./inline-editor";

const MAX_CALLS = 1000; // in one batch
const PASTED_BY = 32; // pixels between a copy and its original
const NEW: Pick<Rect, "width" | "height"> = { width: 172, height: 40 };
const LONGEST_PASTED = 200; // characters of a text that becomes a node

interface Given {
  flow: FlowView;
  canvas: RefObject<CanvasHandle | null>;
  chosen: readonly string[];
  link: string | null;
  run: (calls: readonly ToolCall[], before?: FlowView, words?: string) => void;
  focus: (id: string) => void;
  /** The ids of nodes that are drawn: what was just made is chosen once it is there. */
  drawn: ReadonlySet<string>;
}

export type Actions = ReturnType<typeof useActions>;

/** What can be done by hand with what is chosen: by a key, a menu or a button, all the same. */
export function useActions({ flow, canvas, chosen, link, run, focus, drawn }: Given) {
  const [written, setWritten] = useState<Written | null>(null);
  const awaited = useRef<string[]>([]);
  const pasted = useRef({ text: "", times: 0 });
  useEffect(() => {
    if (awaited.current.length === 0 || !awaited.current.every((id) => drawn.has(id))) return undefined;
    const made = awaited.current;
    awaited.current = [];
    // The canvas takes them over only after this.
    const timer = setTimeout(() => {
      canvas.current?.choose(made);
      const boxes = made.flatMap((id) => canvas.current?.rect(id) ?? []);
      if (boxes.length > 0) canvas.current?.show(around(boxes));
      if (made.length === 1) focus(made[0]!);
    });
    return () => clearTimeout(timer);
  }, [drawn, canvas, focus]);
  // The canvas knows at once what a click or a key chooses; the page's own list follows a moment later.
  const chosenNow = (): readonly string[] => canvas.current?.chosen() ?? chosen;
  const nodes = nodesOf(flow).filter((node) => chosen.includes(node.id));
  const known = new Set(nodesOf(flow).map((node) => node.id));
  const onScreen = (box: Rect): Rect => canvas.current?.onScreen(box) ?? box;
  const boxesOf = (ids: readonly string[]): Map<string, Rect> =>
    new Map(
      ids.flatMap((id) => {
        const box = canvas.current?.rect(id);
        return box ? [[id, box] as const] : [];
      }),
    );
  const insert = (text: string, by: Point, words: (count: number) => string): void => {
    const clip = clipOf(text);
    if (clip === null || clip.nodes.length === 0) return;
    const taken = new Set(known);
    const newId = (label: string): string => {
      const id = freshId(label, taken);
      taken.add(id);
      return id;
    };
    const { calls, ids } = pasting(clip, by, newId);
    if (calls.length > MAX_CALLS) return void toast({ color: "red", title: "Too much at once", message: `At most ${MAX_CALLS} changes can be made at once, and this would be ${calls.length}.` });
    awaited.current = ids;
    run(calls, flow, words(clip.nodes.length));
  };
  const add = (at?: Point, from?: string): void => {
    const parent = from ?? (at === undefined ? chosen[0] : undefined);
    const rect = parent === undefined ? null : (canvas.current?.rect(parent) ?? null);
    if (rect !== null && at === undefined) canvas.current?.show(rect);
    const middle = canvas.current?.middle() ?? { x: 0, y: 0 };
    const corner = at !== undefined ? { x: at.x - NEW.width / 2, y: at.y - NEW.height / 2 } : rect !== null ? { x: rect.x + 24, y: rect.y + rect.height + 16 } : { x: middle.x - NEW.width / 2, y: middle.y };
    const before = flow;
    setWritten({
      title: "Text of the new node",
      text: "",
      box: onScreen({ ...corner, ...NEW }),
      onDone: (label) => {
        const id = freshId(label, known);
        awaited.current = [id];
        run([{ name: "addNode", params: { id, label, ...(parent === undefined ? {} : { parentNodeId: parent }), ...(at === undefined ? {} : { position: { x: Math.round(corner.x), y: Math.round(corner.y) } }) } }], before);
      },
    });
  };
  const renameNode = (id: string): void => {
    const node = nodesOf(flow).find((each) => each.id === id);
    const box = canvas.current?.rect(id);
    if (node === undefined || !box) return;
    canvas.current?.show(box);
    const before = flow;
    setWritten({
      title: "Text of the node",
      text: node.data?.label ?? "",
      box: onScreen(isGroup(node) && node.isCollapsed !== true ? { ...box, height: 30 } : box),
      onDone: (label) => run([{ name: "updateNode", params: { nodeId: id, label } }], before),
      onLeave: () => focus(id),
    });
  };
  const renameLink = (id: string): void => {
    const edge = edgesOf(flow).find((each) => each.id === id);
    if (edge === undefined) return;
    const ends = [edge.source, edge.target].flatMap((each) => canvas.current?.rect(each) ?? []);
    const whole = around(ends.map((box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2, width: 0, height: 0 })));
    const before = flow;
    setWritten({
      title: "Words on the link",
      text: labelOf(edge),
      box: onScreen({ x: whole.x + whole.width / 2 - 70, y: whole.y + whole.height / 2 - 16, width: 140, height: 32 }),
      onDone: (label) => run([{ name: "updateEdge", params: { edgeId: id, label } }], before),
    });
  };
  const group = (ids: readonly string[] = chosen): void => {
    const boxes = [...boxesOf(ids).values()];
    if (boxes.length < 2) return;
    const whole = around(boxes);
    const before = flow;
    setWritten({
      title: "Name of the group",
      text: "",
      box: onScreen({ x: whole.x, y: whole.y - 44, width: 200, height: 30 }),
      onDone: (label) => {
        const id = freshId(label, known);
        awaited.current = [id];
        run([{ name: "createGroup", params: { id, memberIds: ids, label } }, { name: "toggleGroupExpansion", params: { groupId: id, expand: true } }], before, `Grouped ${ids.length} nodes as ${label}`);
      },
    });
  };
  return {
    written,
    close: () => setWritten(null),
    add,
    renameNode,
    renameLink,
    rename: () => {
      const held = chosenNow();
      const edge = document.activeElement?.closest<HTMLElement>(".react-flow__edge.selected")?.dataset.id ?? link;
      if (held.length === 1) renameNode(held[0]!);
      else if (edge !== null) renameLink(edge);
    },
    group,
    ungroup: () => run(nodes.filter(isGroup).map((each) => ({ name: "ungroup", params: { groupId: each.id } }))),
    copy: (): string | null => (chosenNow().length === 0 ? null : JSON.stringify(copied(flow, chosenNow()))),
    paste: (text: string) => {
      if (clipOf(text) === null) {
        const label = text.trim();
        if (label !== "" && label.length <= LONGEST_PASTED) {
          const id = freshId(label, known);
          awaited.current = [id];
          run([{ name: "addNode", params: { id, label } }]);
        } else toast({ message: "Only nodes copied from a flow, or a short text, can be pasted here." });
        return;
      }
      pasted.current = { text, times: pasted.current.text === text ? pasted.current.times + 1 : 1 };
      const by = PASTED_BY * pasted.current.times;
      insert(text, { x: by, y: by }, (count) => `Pasted ${count} ${count === 1 ? "node" : "nodes"}`);
    },
    duplicate: () => {
      if (chosen.length > 0) insert(JSON.stringify(copied(flow, chosen)), { x: PASTED_BY, y: PASTED_BY }, (count) => `Duplicated ${count} ${count === 1 ? "node" : "nodes"}`);
    },
    align: (to: Alignment) => canvas.current?.place(aligned(boxesOf(chosen), to)),
    distribute: (along: "x" | "y") => canvas.current?.place(distributed(boxesOf(chosen), along)),
    paint: (color: string) => run(nodes.map((node) => ({ name: "changeVisuals", params: { target: "node", nodeId: node.id, color } }))),
    reshape: (shape: Shape) => run(nodes.filter((node) => !isGroup(node)).map((node) => ({ name: "updateNode", params: { nodeId: node.id, shape } }))),
    resize: (id: string, box: Rect) => {
      const parent = canvas.current?.nodes.find((node) => node.id === id)?.data.origin ?? { x: 0, y: 0 };
      const position = { x: Math.round(box.x - parent.x), y: Math.round(box.y - parent.y) };
      run([{ name: "updateNode", params: { nodeId: id, position, size: { width: box.width, height: box.height } } }]);
    },
    describe: (id: string, description: string) => run([{ name: "updateNode", params: { nodeId: id, description } }]),
    draw: (line: Line) => link !== null && run([{ name: "updateEdge", params: { edgeId: link, line } }]),
    turn: () => {
      const edge = edgesOf(flow).find((each) => each.id === link);
      if (edge !== undefined) run([{ name: "updateEdge", params: { edgeId: edge.id, sourceNodeId: edge.target, targetNodeId: edge.source } }]);
    },
  };
}
