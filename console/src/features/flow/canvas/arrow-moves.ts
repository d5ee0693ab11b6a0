import type { Edge, Node, NodePositionChange } from "@xyflow/react";

export const ARROWS: Readonly<Record<string, { x: number; y: number }>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

// Straight on counts more than near: so much is a step aside worth.
const ASIDE = 2;

/**
 * Where an arrow leads from a node: to the one it is linked with that lies that way, whichever way the edge points; else to
 * one that has a link to the same node, as the targets of one decision; else to a linked one that lies only partly that way.
 */
export function along(nodes: readonly Node[], edges: readonly Edge[], from: string, key: string): string | undefined {
  const way = ARROWS[key];
  const places = new Map(nodes.filter((node) => node.hidden !== true).map((node) => [node.id, middle(node)]));
  const start = places.get(from);
  if (way === undefined || start === undefined) return undefined;
  const linked = linkedWith(edges, from);
  const beside = new Set([...linked].flatMap((each) => [...linkedWith(edges, each)]));
  for (const [candidates, straight] of [[linked, true], [beside, true], [linked, false]] as const) {
    const scored = [...candidates].flatMap((id) => {
      const place = places.get(id);
      if (place === undefined || id === from) return [];
      const [x, y] = [place.x - start.x, place.y - start.y];
      const [ahead, aside] = [x * way.x + y * way.y, Math.abs(x * way.y) + Math.abs(y * way.x)];
      return ahead <= 0 || (straight && ahead < aside) ? [] : [{ id, far: ahead + ASIDE * aside }];
    });
    if (scored.length > 0) return scored.reduce((best, each) => (each.far < best.far ? each : best)).id;
  }
  return undefined;
}

const STEP = 8;
const LONG_STEP = 40;

/** A step of a node, and of all that are chosen with it. */
export function moves(nodes: readonly Node[], id: string, key: string, long: boolean): NodePositionChange[] {
  const way = ARROWS[key]!;
  const step = long ? LONG_STEP : STEP;
  const chosen = nodes.filter((node) => node.selected === true);
  const moving = chosen.some((node) => node.id === id) ? chosen : nodes.filter((node) => node.id === id);
  return moving
    .filter((node) => node.draggable !== false)
    .map((node) => ({ type: "position", id: node.id, position: { x: node.position.x + way.x * step, y: node.position.y + way.y * step }, dragging: false }));
}

/** What a node has an edge from or to. */
export function linkedWith(edges: readonly Edge[], id: string): Set<string> {
  return new Set(edges.flatMap(({ source, target }) => (source === id ? [target] : target === id ? [source] : [])));
}

function middle(node: Node): { x: number; y: number } {
  return { x: node.position.x + (node.width ?? 0) / 2, y: node.position.y + (node.height ?? 0) / 2 };
}
