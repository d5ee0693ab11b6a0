import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { post, put } from "../../../api/client";
import type { FlowView } from "../../../api/types";
import { faultsOf } from "../../../shared/editing/field-errors";
import { Failed } from "../../../shared/page/loading-states";
import { WriteButton } from "../../../shared/editing/write-button";

const then = (work: () => void) => (event: FormEvent): void => (event.preventDefault(), work()); // prettier-ignore

/** A new flow from a version: work continues there, and this one stays as it is. */
export function Branch({ flow, version }: { flow: FlowView; version: number }) {
  const [name, setName] = useState<string | null>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (wanted: string) => post<FlowView>(`/v1/flows/${flow.id}/versions/${version}/branch`, wanted === "" ? {} : { name: wanted }),
    onSuccess: ({ id }) => {
      void client.invalidateQueries({ queryKey: ["flows"] });
      void navigate({ to: "/flows/$id", params: { id } });
    },
  });
  if (name === null) {
    return (
      <WriteButton variant="default" onClick={() => setName(`${flow.name}, from version ${version}`)}>
        Branch from here…
      </WriteButton>
    );
  }
  const faults = faultsOf(make.error, ["name"]);
  return (
    <form className="bar" onSubmit={then(() => make.mutate(name.trim()))}>
      <TextInput aria-label="Name of the new flow" autoFocus maxLength={200} value={name} onChange={(event) => setName(event.currentTarget.value)} error={faults.at("name")} />
      <WriteButton type="submit" loading={make.isPending}>
        Begin a flow from version {version}
      </WriteButton>
      <Button variant="default" onClick={() => setName(null)}>
        Cancel
      </Button>
      {make.error === null ? null : <Failed error={make.error} faults={faults} />}
    </form>
  );
}

/** A version with a name is kept when older ones are dropped. */
export function Naming({ flowId, version, name, onNamed }: { flowId: string; version: number; name: string | null; onNamed: () => void }) {
  const [text, setText] = useState(name ?? "");
  const save = useMutation({ mutationFn: () => put(`/v1/flows/${flowId}/versions/${version}`, { name: text.trim() || null }), onSuccess: onNamed });
  return (
    <form className="bar" onSubmit={then(() => save.mutate())}>
      <TextInput aria-label={`Name of version ${version}`} placeholder="Name this version" maxLength={200} value={text} onChange={(event) => setText(event.currentTarget.value)} error={save.error === null ? null : save.error.message} />
      <WriteButton type="submit" variant="default" loading={save.isPending} disabled={text.trim() === (name ?? "")}>
        {name !== null && text.trim() === "" ? "Remove name" : "Save name"}
      </WriteButton>
    </form>
  );
}
