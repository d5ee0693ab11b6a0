import { Button } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { nodesOf } from "../../../shared/flows/elements";
import { nameOf } from "../canvas/outline";

// More would be too many to read: typing more of the name leaves fewer.
const OFFERED = 20;

/** Links a node to another by its name, without a pointer. */
export function LinkPrompt({ flow, from, onLink, onClose }: { flow: FlowView; from: string; onLink: (target: string) => void; onClose: () => void }) {
  const [target, setTarget] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => void field.current?.focus(), [from]);
  const names = useMemo(() => namesOf(flow), [flow]);
  const id = names.get(target.trim());
  const offered = useMemo(() => matching([...names.keys()], target), [names, target]);
  return (
    <form
      className="link-prompt"
      aria-label="Link"
      onSubmit={(event) => {
        event.preventDefault();
        if (id !== undefined) onLink(id);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <span className="clip">{visible(nameOf(flow, "node", from))} →</span>
      <input ref={field} className="plain-input" list="link-targets" autoComplete="off" aria-label="Link the chosen node to" placeholder="Name of a node" value={target} onChange={(event) => setTarget(event.currentTarget.value)} />
      <datalist id="link-targets">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button type="submit" size="xs" disabled={id === undefined}>
        Link
      </Button>
    </form>
  );
}

/** The ids of nodes by what they are called; one that shares its name with another is called by its id too. */
function namesOf(flow: FlowView): Map<string, string> {
  const names = new Map<string, string>();
  for (const node of nodesOf(flow)) {
    const name = node.data?.label || node.id;
    names.set(names.has(name) ? `${name} (${node.id})` : name, node.id);
  }
  return names;
}

function matching(names: readonly string[], typed: string): string[] {
  const wanted = typed.trim().toLowerCase();
  const offered: string[] = [];
  for (const name of names) {
    if (offered.length === OFFERED) break;
    if (name.toLowerCase().includes(wanted)) offered.push(name);
  }
  return offered;
}
