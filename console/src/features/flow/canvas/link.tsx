import { BaseEdge, EdgeLabelRenderer, type EdgeProps } from "@xyflow/react";
import { memo, useContext, type CSSProperties } from "react";
import { visible } from "../../../shared/code/ansi";
import { angled } from "./detours";
import { EdgeBoxes } from "./edge-boxes";
import type { Point } from "../../../shared/flows/elements";
import { curveOf, loopOf, type End } from "./lines";
import { HANDLE, type DrawnEdge } from "./merged-graph";
import type { Side } from "../../../shared/flows/shapes";

/** A link with its words on it. */
export const Link = memo(function Link({ id, source, target, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, data, selected }: EdgeProps<DrawnEdge>) {
  const boxOf = useContext(EdgeBoxes);
  const { label = "", line = "arrow", lane = 0, corners = [], wordsAt = 0.5, mark = "", tag = "", color, bothWays = false } = data ?? {};
  const own = source === target ? boxOf(source) : undefined;
  const [start, end] = [endAt(sourceX, sourceY, sourcePosition as Side), endAt(targetX, targetY, targetPosition as Side)];
  const curve = own !== undefined ? loopOf(own, lane) : corners.length > 0 ? angled(levelled(start, corners[0]!), corners, levelled(end, corners.at(-1)!)) : curveOf(start, end, lane);
  const middle = curve.at(wordsAt);
  const headless = line === "open" || line.endsWith("_open") || line === "invisible";
  const words = [label, mark === "removed" ? tag : ""].filter(Boolean).join(" ");
  return (
    <>
      <BaseEdge id={id} path={curve.path} interactionWidth={16} markerEnd={headless ? undefined : "url(#flow-head)"} markerStart={bothWays ? "url(#flow-head)" : undefined} style={color === undefined ? undefined : ({ "--edge": color } as CSSProperties)} />
      {words === "" ? null : (
        <EdgeLabelRenderer>
          <span className={`link-words ${mark} ${selected ? "selected" : ""}`} data-edge={id} style={{ transform: `translate(-50%, -50%) translate(${middle.x}px, ${middle.y}px)` }}>
            {visible(words)}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

const HALF = HANDLE / 2;

/** The library ends links at the outside of the handles: on the outline is further in. */
function endAt(x: number, y: number, side: Side): End {
  return { x: x + (side === "left" ? HALF : side === "right" ? -HALF : 0), y: y + (side === "top" ? HALF : side === "bottom" ? -HALF : 0), side };
}

/** The end in line with the corner next to it: the library rounds where nodes are. */
function levelled({ x, y, side }: End, corner: Point): Point {
  return side === "left" || side === "right" ? { x, y: corner.y } : { x: corner.x, y };
}

/** The head of every link, in the colour of its line. */
export function Heads() {
  return (
    <svg className="heads" aria-hidden="true">
      <defs>
        <marker id="flow-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
          <path className="head" d="M0 0.5 10 5 0 9.5Z" />
        </marker>
      </defs>
    </svg>
  );
}
