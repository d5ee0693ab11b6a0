import { Button, Modal, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import type { FlowView } from "../../api/types";
import { faultsOf } from "../../shared/editing/field-errors";
import { WriteButton } from "../../shared/editing/write-button";
import { Imported } from "../../shared/files/flow-files";
import { importFlow } from "../../shared/files/flow-import";
import { Failed } from "../../shared/page/loading-states";

const SAMPLE = "flowchart LR\n  cart[Cart] --> payment[Payment]\n  payment --> receipt[Receipt]\n";

/** A flow from nothing, or from a text; one whose text was understood whole is opened. */
export function NewFlow({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const client = useQueryClient();
  const empty = text.trim() === "";
  const make = useMutation({
    mutationFn: async () => (empty ? { flow: await post<FlowView>("/v1/flows", { name: name || "New flow", nodes: [], edges: [] }), left: 0 } : importFlow(text, name)),
    onSuccess: ({ flow, left }) => {
      void client.invalidateQueries({ queryKey: ["flows"] });
      // With warnings there is something to read first.
      if ((flow.warnings ?? []).length + left === 0) void navigate({ to: "/flows/$id", params: { id: flow.id } });
    },
  });
  const faults = faultsOf(make.error, ["name", "text"]);
  return (
    <Modal opened onClose={onClose} size={560} title="New flow">
      <form
        className="stack"
        aria-label="New flow"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <TextInput label="Name" data-autofocus placeholder="e.g. Checkout" error={faults.at("name")} value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Textarea label="Mermaid or JSON to import" description="Optional. Without it the flow is empty, and you describe what it should show." error={faults.at("text")} autosize minRows={6} maxRows={16} classNames={{ input: "mono" }} value={text} onChange={(event) => setText(event.currentTarget.value)} />
        {make.error === null ? null : <Failed error={make.error} faults={faults} />}
        {make.data === undefined || make.data.left + (make.data.flow.warnings ?? []).length === 0 ? null : <Imported text={text} {...make.data} />}
        <div className="dialog-foot">
          <Button variant="subtle" onClick={() => setText(SAMPLE)}>
            Use a sample
          </Button>
          <span className="spacer" />
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <WriteButton type="submit" loading={make.isPending}>
            {empty ? "Create empty flow" : "Import"}
          </WriteButton>
        </div>
      </form>
    </Modal>
  );
}
