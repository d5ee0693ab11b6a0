import { ActionIcon, Button, Menu, Modal, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import { useState, type ReactNode } from "react";
import { remove, send } from "../../../api/client";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { faultsOf } from "../../../shared/editing/field-errors";
import { Failed } from "../../../shared/page/loading-states";
import { useWrite } from "../../../shared/editing/write-button";
import { Icon } from "../../../shared/values/icon";

/** What is done with a flow as a whole: another name, or an end. */
export function RenameDelete({ flow, onRenamed, onEnding, children }: { flow: FlowView; onRenamed: () => void; onEnding: (ends: boolean) => void; children: ReactNode }) {
  const [asked, setAsked] = useState<"name" | "end" | null>(null);
  const write = useWrite();
  const close = (): void => setAsked(null);
  return (
    <>
      <Menu transitionProps={{ duration: 0 }} position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size={30} aria-label="More" title="More">
            <Icon of={Ellipsis} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {children}
          <Menu.Item disabled={!write.may} title={write.title} onClick={() => setAsked("name")}>
            Rename…
          </Menu.Item>
          <Menu.Item className="danger" disabled={!write.may} title={write.title} onClick={() => setAsked("end")}>
            Delete…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={asked === "name"} onClose={close} title="Rename the flow">
        <Rename flow={flow} onDone={() => (close(), onRenamed())} />
      </Modal>
      <Modal opened={asked === "end"} onClose={close} title={`Delete ${visible(flow.name)}?`}>
        <End flow={flow} onKeep={close} onEnding={onEnding} />
      </Modal>
    </>
  );
}

function Rename({ flow, onDone }: { flow: FlowView; onDone: () => void }) {
  const [name, setName] = useState(flow.name);
  const client = useQueryClient();
  const save = useMutation({
    // The name goes with the document; only over the version that it belongs to.
    mutationFn: () => send("PUT", `/v1/flows/${flow.id}`, { body: { name: name.trim(), nodes: flow.nodes, edges: flow.edges }, headers: { "If-Match": `"v${flow.version}"` } }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["flows"] });
      onDone();
    },
  });
  const faults = faultsOf(save.error, ["name"]);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <TextInput label="Name" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} error={faults.at("name")} />
      <span>
        <Button type="submit" loading={save.isPending} disabled={name.trim() === "" || name.trim() === flow.name}>
          Rename
        </Button>
      </span>
      {save.error === null ? null : <Failed error={save.error} faults={faults} />}
    </form>
  );
}

/** `onEnding`: the user's own deletion is not news to follow. */
function End({ flow, onKeep, onEnding }: { flow: FlowView; onKeep: () => void; onEnding: (ends: boolean) => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const end = useMutation({
    mutationFn: () => remove(`/v1/flows/${flow.id}`),
    onMutate: () => onEnding(true),
    onError: () => onEnding(false),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["flows"] });
      void navigate({ to: "/flows" });
    },
  });
  return (
    <div className="stack">
      <span>
        All {flow.version} versions, their names and its proposals are deleted with it, for all users. This can’t be undone; export it first to keep a copy.
      </span>
      {end.error === null ? null : <Failed error={end.error} />}
      <span className="bar">
        <Button color="red" loading={end.isPending} onClick={() => end.mutate()}>
          Delete {visible(flow.name)}
        </Button>
        <Button variant="default" onClick={onKeep}>
          Keep it
        </Button>
      </span>
    </div>
  );
}
