import type { Edge, Node, NodeChange, ReactFlowInstance } from "@xyflow/react";
import { useRef, type KeyboardEvent, type RefObject } from "react";
import { along, ARROWS } from "./arrows";

interface Canvas {
  nodes: readonly Node[];
  edges: readonly Edge[];
  editable: boolean;
  change: (changes: NodeChange[]) => void;
  flow: RefObject<ReactFlowInstance | null>;
}

const STEP = 8;
const LONG_STEP = 40;

/** The arrows on a node: they follow its edges, and with Alt they move it, or all that are chosen with it. */
export function useArrows({ nodes, edges, editable, change, flow }: Canvas): { press: (event: KeyboardEvent) => void; go: (id: string) => void; focus: (id: string) => void } {
  const element = useRef<Element | null>(null);
  const choose = (id: string): void => change(nodes.filter((node) => node.selected === true || node.id === id).map((node) => ({ type: "select", id: node.id, selected: node.id === id })));
  const focus = (id: string): void => {
    const node = nodes.find((each) => each.id === id);
    if (node === undefined) return;
    const found = (): HTMLElement | null => (element.current ?? document).querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`);
    if (found() !== null) return found()!.focus();
    // Only what is in sight is drawn.
    const instance = flow.current;
    void instance?.setCenter(node.position.x + (node.width ?? 0) / 2, node.position.y + (node.height ?? 0) / 2, { zoom: instance.getZoom() });
    setTimeout(() => found()?.focus(), 50);
  };
  const go = (id: string): void => {
    choose(id);
    focus(id);
  };
  const press = (event: KeyboardEvent): void => {
    element.current = event.currentTarget;
    const way = ARROWS[event.key];
    const target = event.target as HTMLElement;
    const id = target.classList.contains("react-flow__node") ? target.dataset.id : undefined;
    if (way === undefined || id === undefined || event.ctrlKey || event.metaKey) return;
    // The library moves with the arrows alone, and Alt would lead back in the browser's history.
    event.preventDefault();
    event.stopPropagation();
    if (!event.altKey) {
      const next = along(nodes, edges, id, event.key);
      if (next !== undefined) go(next);
      return;
    }
    if (!editable) return;
    const step = event.shiftKey ? LONG_STEP : STEP;
    const chosen = nodes.filter((node) => node.selected === true);
    const moving = chosen.some((node) => node.id === id) ? chosen : nodes.filter((node) => node.id === id);
    change(moving.filter((node) => node.draggable !== false).map((node) => ({ type: "position", id: node.id, position: { x: node.position.x + way.x * step, y: node.position.y + way.y * step }, dragging: false })));
  };
  return { press, go, focus };
}
