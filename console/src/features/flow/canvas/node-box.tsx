import { Handle, type NodeProps, type Position } from "@xyflow/react";
import { createContext, memo, useContext, type CSSProperties } from "react";
import { visible } from "../../../shared/code/ansi";
import type { Rect } from "../../../shared/flows/elements";
import { SIDES, type Content, type DrawnNode } from "./merged-graph";
import { Resizer } from "./resizer";
import { figureOf, portOf, radiusOf } from "../../../shared/flows/shapes";

/** What a node can have done with it; null where nothing can be changed. */
export interface Hands {
  fold: (groupId: string, expand: boolean) => void;
  resize: (id: string, box: Rect) => void;
}

export const HandsOf = createContext<Hands | null>(null);

/** A node in its shape, or the frame of a group that is open. */
export const Box = memo(function Box({ id, data, selected, width = 0, height = 0 }: NodeProps<DrawnNode>) {
  const hands = useContext(HandsOf);
  const radius = radiusOf(data.shape, height, data.radius);
  const { background, border, text } = data.look;
  const figure = radius === null && !data.open ? figureOf(data.shape, width, height) : null;
  const paint = { "--fill": data.open ? undefined : figure !== null && background?.includes("gradient(") ? "transparent" : background, "--edge": border, "--ink": data.open ? undefined : text, borderRadius: radius ?? undefined } as CSSProperties;
  return (
    <div className={`node ${data.mark} ${data.group ? "group" : ""} ${data.open ? "open" : ""} ${figure === null ? "" : "figure"} ${text === undefined ? "" : "painted"}`} data-shape={data.shape} style={paint}>
      {figure === null ? null : (
        <>
        {background?.includes("gradient(") ? <span className="paint" style={{ background, clipPath: `path("${figure.outline}")` }} /> : null}
        <svg width={width} height={height} aria-hidden="true">
          <path className="outline" d={figure.outline} />
          {figure.inner === "" ? null : <path className="inner" d={figure.inner} />}
        </svg>
        </>
      )}
      {data.group ? <FoldButton id={id} data={data} fold={hands?.fold ?? null} /> : null}
      <span className="node-words">
        <span className="node-label">{visible(data.label)}</span>
        {data.description === "" || data.open ? null : <span className="node-more">{visible(data.description)}</span>}
      </span>
      {data.folded === 0 ? null : (
        <span className="node-count" title={data.group ? `${data.folded} nodes are folded here` : "What follows is folded"}>
          {data.group ? data.folded : "…"}
        </span>
      )}
      {data.tag === "" ? null : <span className={`change-tag ${data.mark}`}>{visible(data.tag)}</span>}
      {/* Links end at them, also where nothing can be changed. */}
      {SIDES.map((side) => {
        const { x, y } = portOf(data.shape, width, height, side);
        return <Handle key={side} id={side} type="source" position={side as Position} isConnectable={hands !== null && !data.open} style={{ left: x, top: y, right: "auto", bottom: "auto", transform: "translate(-50%, -50%)" }} />;
      })}
      {hands !== null && selected && !data.open ? <Resizer id={id} width={width} height={height} onResized={(box) => hands.resize(id, box)} /> : null}
    </div>
  );
});

function FoldButton({ id, data, fold }: { id: string; data: Content; fold: Hands["fold"] | null }) {
  return (
    <button type="button" className="fold nodrag" disabled={fold === null} aria-expanded={data.open} aria-label={`${data.open ? "Fold" : "Unfold"} ${data.label}`} onClick={() => fold?.(id, !data.open)}>
      {data.open ? "▾" : "▸"}
    </button>
  );
}
