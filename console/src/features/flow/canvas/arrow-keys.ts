import type { Edge, Node, NodeChange } from "@xyflow/react";
import { useCallback, type KeyboardEvent, type RefObject } from "react";
import { along, ARROWS, moves } from "./arrow-moves";

/** What the canvas lets the rest of the page do. */
export interface CanvasHandle {
  nodes: readonly Node[];
  change: (changes: NodeChange[]) => void;
  center: (x: number, y: number) => void;
}

const DRAWN_MS = 50;

function elementOf(id: string): HTMLElement | null {
  return document.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`);
}

/** The arrows on a node: they follow its edges, and with Alt they move it, or all that are chosen with it. */
export function useArrows(canvas: RefObject<CanvasHandle | null>, edges: readonly Edge[], editable: boolean) {
  const focus = useCallback((id: string): void => {
    const node = canvas.current?.nodes.find((each) => each.id === id);
    if (node === undefined) return;
    const element = elementOf(id);
    if (element !== null) return element.focus();
    // Only what is in sight is drawn.
    canvas.current?.center(node.position.x + (node.width ?? 0) / 2, node.position.y + (node.height ?? 0) / 2);
    setTimeout(() => elementOf(id)?.focus(), DRAWN_MS);
  }, [canvas]); // prettier-ignore
  const go = useCallback((id: string): void => {
    const chosen = canvas.current?.nodes.filter((node) => node.selected === true || node.id === id) ?? [];
    canvas.current?.change(chosen.map((node) => ({ type: "select", id: node.id, selected: node.id === id })));
    focus(id);
  }, [canvas, focus]); // prettier-ignore
  const press = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    const id = target.classList.contains("react-flow__node") ? target.dataset.id : undefined;
    if (!(event.key in ARROWS) || id === undefined || event.ctrlKey || event.metaKey || canvas.current === null) return;
    // The library moves with the arrows alone, and Alt would lead back in the browser's history.
    event.preventDefault();
    event.stopPropagation();
    const { nodes, change } = canvas.current;
    if (event.altKey) {
      if (editable) change(moves(nodes, id, event.key, event.shiftKey));
      return;
    }
    const next = along(nodes, edges, id, event.key);
    if (next !== undefined) go(next);
  };
  return { press, go, focus };
}
