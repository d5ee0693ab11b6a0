import { Button } from "@mantine/core";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { looks, PALETTE, PLAIN } from "../canvas/colours";
import { edgesOf, isGroup, nodesOf } from "../canvas/elements";
import { nameOf } from "../canvas/outline";
import type { Call, ToolCall } from "./announcements";

interface Props {
  flow: FlowView;
  chosen: readonly string[];
  disabled: boolean;
  call: Call;
  calls: (calls: readonly ToolCall[]) => void;
  onRemove: (ids: string[]) => void;
}

/** What can be done with the nodes that are chosen: coloured, grouped, folded, deleted also without a keyboard. */
export function SelectedNodes({ flow, chosen, disabled, call, calls, onRemove }: Props) {
  const nodes = nodesOf(flow).filter((node) => chosen.includes(node.id));
  const [only] = nodes.length === 1 ? nodes : [];
  if (nodes.length === 0) return null;
  const colour = only === undefined ? undefined : looks(flow)(only.id).background;
  const paint = (color: string): void => calls(nodes.map((node) => ({ name: "changeVisuals", params: { target: "node", nodeId: node.id, color } })));
  const leads = only !== undefined && !isGroup(only) && edgesOf(flow).some((edge) => edge.source === only.id);
  const folded = only?.data?.collapsed === true;
  return (
    <div className="bar" role="group" aria-label="What is chosen">
      <b className="clip">{only === undefined ? `${nodes.length} nodes` : visible(nameOf(flow, "node", only.id))}</b>
      <span className="bar" role="group" aria-label="Colour">
        {PALETTE.map(({ name, value }) => (
          <button key={name} type="button" className="swatch" style={{ background: value }} aria-label={`Colour ${name}`} title={name} aria-pressed={colour === value} disabled={disabled} onClick={() => paint(value)}>
            {colour === value ? "✓" : ""}
          </button>
        ))}
        <button type="button" className="swatch none" aria-label="No colour" title="no colour" disabled={disabled} onClick={() => paint(PLAIN.background)}>
          ×
        </button>
      </span>
      <span className="spacer" />
      {nodes.length < 2 ? null : (
        <Button variant="default" disabled={disabled} onClick={() => call("createGroup", { memberIds: nodes.map((node) => node.id), label: "Group" })}>
          Group
        </Button>
      )}
      {only !== undefined && isGroup(only) ? (
        <Button variant="default" disabled={disabled} onClick={() => call("ungroup", { groupId: only.id })}>
          Ungroup
        </Button>
      ) : null}
      {leads || folded ? (
        <Button variant="default" disabled={disabled} onClick={() => call("toggleSubtreeCollapse", { nodeId: only.id, collapsed: !folded })}>
          {folded ? "Unfold what follows" : "Fold what follows"}
        </Button>
      ) : null}
      <Button variant="default" disabled={disabled} onClick={() => onRemove(nodes.map((node) => node.id))}>
        Delete
      </Button>
    </div>
  );
}
