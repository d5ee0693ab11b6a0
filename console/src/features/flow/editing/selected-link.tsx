import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { edgesOf } from "../canvas/elements";
import { nameOf } from "../canvas/outline";
import type { Call } from "./announcements";

/** What can be done with the link that is chosen: words on it, or an end of it. */
export function SelectedLink({ flow, id, disabled, call }: { flow: FlowView; id: string; disabled: boolean; call: Call }) {
  const edge = edgesOf(flow).find((each) => each.id === id);
  const label = edge?.data?.label ?? "";
  const [text, setText] = useState(label);
  if (edge === undefined) return null;
  return (
    <form
      className="bar"
      aria-label="The link that is chosen"
      onSubmit={(event) => {
        event.preventDefault();
        call("updateEdge", { edgeId: id, label: text.trim() });
      }}
    >
      <b className="clip">{visible(nameOf(flow, "edge", id))}</b>
      <TextInput aria-label="Words on the link" placeholder="Words on the link" value={text} disabled={disabled} onChange={(event) => setText(event.currentTarget.value)} />
      <Button type="submit" variant="default" disabled={disabled || text.trim() === label}>
        {text.trim() === "" && label !== "" ? "Take the words away" : "Write them on it"}
      </Button>
      <span className="spacer" />
      <Button variant="default" disabled={disabled} onClick={() => call("deleteEdge", { edgeId: id })}>
        Delete
      </Button>
    </form>
  );
}
