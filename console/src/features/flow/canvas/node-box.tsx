import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { createContext, useContext } from "react";
import { visible } from "../../../shared/code/ansi";
import type { Look } from "./colours";
import { SIGNS, type Mark } from "./elements";

type Content = { label: string; mark: Mark; group: boolean; open: boolean; folded: boolean; look: Look };

/** Folds a group; none where nothing can be changed. */
export const Fold = createContext<((groupId: string, expand: boolean) => void) | null>(null);

/** A node, or the frame of a group that is open. */
export function Box({ id, data }: NodeProps<Node<Content>>) {
  const fold = useContext(Fold);
  const { background, border, text } = data.look;
  return (
    <div className={`node ${data.mark} ${data.group ? "group" : ""} ${data.open ? "open" : ""}`} style={data.open ? { borderColor: border } : { background, borderColor: border, color: text }}>
      <Handle type="target" position={Position.Left} />
      {data.group ? (
        <button type="button" className="fold nodrag" disabled={fold === null} aria-expanded={data.open} aria-label={`${data.open ? "Fold" : "Unfold"} ${data.label}`} onClick={() => fold?.(id, !data.open)}>
          {data.open ? "▾" : "▸"}
        </button>
      ) : null}
      {SIGNS[data.mark]}
      {visible(data.label)}
      {data.folded ? <span title="What follows is folded"> …</span> : null}
      <Handle type="source" position={Position.Right} />
    </div>
  );
}
