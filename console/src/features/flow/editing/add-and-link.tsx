import { Button, TextInput } from "@mantine/core";
import { useEffect, useMemo, useState } from "react";
import type { FlowView } from "../../../api/types";
import { isTyping, keysAreOn } from "../../../app/keys";
import { nodesOf } from "../canvas/elements";
import type { Call } from "./announcements";

// More would be elements that nobody looks through: typing more of the name leaves fewer.
const OFFERED = 20;

/** Editing by hand, without a pointer: n adds, l links the chosen node to another, a new name is typed. */
export function AddAndLink({ flow, chosen, disabled, call }: { flow: FlowView; chosen: string | null; disabled: boolean; call: Call }) {
  const [typed, setTyped] = useState<{ text: string; before: FlowView } | null>(null);
  const [target, setTarget] = useState("");
  useHandKeys();
  const text = typed?.text ?? "";
  // What others rename while one types is not unsaid unseen.
  const type = (next: string): void => setTyped(next === "" ? null : { text: next, before: typed?.before ?? flow });
  const done = (name: string, params: object): void => {
    call(name, params, typed?.before);
    setTyped(null);
  };
  const names = useMemo(() => namesOf(flow), [flow]);
  const targetId = names.get(target.trim());
  const offered = useMemo(() => matching([...names.keys()], target), [names, target]);
  return (
    <div className="bar">
      <TextInput id="node-text" aria-label="Text of a node" placeholder={chosen === null ? "Text of a new node (n)" : "Text of a node after it, or its new text"} value={text} onChange={(event) => type(event.currentTarget.value)} style={{ flex: 1, minWidth: 160 }} disabled={disabled} />
      <Button variant="default" disabled={disabled || text.trim() === ""} onClick={() => done("addNode", { label: text, ...(chosen === null ? {} : { parentNodeId: chosen }) })}>
        Add
      </Button>
      <Button variant="default" disabled={disabled || chosen === null || text.trim() === ""} onClick={() => done("updateNode", { nodeId: chosen, label: text })}>
        Rename
      </Button>
      <input id="link-target" className="plain-input" list="link-targets" autoComplete="off" aria-label="Link the chosen node to" placeholder="Link to… (l)" disabled={disabled || chosen === null} value={target} onChange={(event) => setTarget(event.currentTarget.value)} />
      <datalist id="link-targets">
        {offered.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Button variant="default" disabled={disabled || chosen === null || targetId === undefined} onClick={() => (call("addEdge", { sourceNodeId: chosen, targetNodeId: targetId }), setTarget(""))}>
        Link
      </Button>
    </div>
  );
}

function useHandKeys(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey) return;
      const id = event.key === "n" ? "node-text" : event.key === "l" ? "link-target" : null;
      if (id === null) return;
      event.preventDefault();
      document.getElementById(id)?.focus();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
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
