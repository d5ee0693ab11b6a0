import type { Edge, NodeChange } from "@xyflow/react";
import { useCallback, type KeyboardEvent, type RefObject } from "react";
import { along, ARROWS, moves } from "./arrow-moves";
import type { Point, Rect } from "../../../shared/flows/elements";
import type { DrawnNode } from "./merged-graph";
import { rectOf } from "./routes";
import { FAR, type Sight } from "./viewport";

/** What the canvas lets the rest of the page do. */
export interface CanvasHandle {
  nodes: readonly DrawnNode[];
  change: (changes: NodeChange<DrawnNode>[]) => void;
  /** Moves nodes to where they are then drawn, and saves it. */
  place: (places: ReadonlyMap<string, Point>) => void;
  /** What is chosen at this moment, before the page has drawn it so. */
  chosen: () => string[];
  choose: (ids: readonly string[], edge?: string) => void;
  center: (x: number, y: number, leastZoom?: number) => void;
  /** Brings a part into view unless it is there; or fits it in any case. */
  show: (part: Rect, whole?: boolean) => void;
  fit: () => void;
  /** From the diagram's coordinates to those of the canvas on the screen. */
  onScreen: (part: Rect) => Rect;
  middle: () => Sight;
  rect: (id: string) => Rect | null;
}

const DRAWN_MS = 30;
const MAX_TRIES = 20;
const READABLE = 0.75; // the zoom at which words are read

function elementOf(id: string): HTMLElement | null {
  return document.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`);
}

function focusOnceDrawn(id: string, tries = MAX_TRIES): void {
  const element = elementOf(id);
  if (element !== null) element.focus({ preventScroll: true });
  else if (tries > 0) setTimeout(() => focusOnceDrawn(id, tries - 1), DRAWN_MS);
}

/** The arrows on a node: they follow its edges, and with Alt they move it, or all that are chosen with it. */
export function useArrows(canvas: RefObject<CanvasHandle | null>, edges: readonly Edge[], editable: boolean) {
  const focus = useCallback((id: string): void => {
    const node = canvas.current?.nodes.find((each) => each.id === id);
    if (node === undefined) return;
    // Only nodes within the view are drawn, and none when the view is far away.
    const box = rectOf(node);
    if (elementOf(id) === null && canvas.current!.middle().zoom < FAR) canvas.current?.center(box.x + box.width / 2, box.y + box.height / 2, READABLE);
    else canvas.current?.show(box);
    focusOnceDrawn(id);
  }, [canvas]); // prettier-ignore
  const go = useCallback((id: string): void => {
    canvas.current?.choose([id]);
    focus(id);
  }, [canvas, focus]); // prettier-ignore
  /** What was looked for is in the middle, large enough to read. */
  const find = useCallback((id: string): void => {
    const box = canvas.current?.rect(id);
    if (!box) return;
    canvas.current?.choose([id]);
    canvas.current?.center(box.x + box.width / 2, box.y + box.height / 2, READABLE);
    focusOnceDrawn(id);
  }, [canvas]); // prettier-ignore
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
  return { press, find, focus };
}
