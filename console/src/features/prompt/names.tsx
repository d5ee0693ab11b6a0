import { Button, Select, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import type { Prompt } from "../../api/types";
import { Failed } from "../../shared/page/loading-states";

interface Props {
  prompt: Prompt;
  versions: readonly Prompt[];
  may: boolean;
  onChanged: () => void;
}

/** Gives a version a name; a name means one version only, and none when it is taken away. */
export function Names({ prompt, versions, may, onChanged }: Props) {
  const [label, setLabel] = useState("");
  const [version, setVersion] = useState<string | null>(null);
  const chosen = version ?? String(prompt.version);
  const given = versions.flatMap((each) => each.labels ?? []);
  const name = useMutation({
    mutationFn: (body: { label: string; version?: number }) => post(`/v1/prompts/${prompt.key}/labels`, body),
    onSuccess: () => {
      setLabel("");
      onChanged();
    },
  });
  const reason = may ? undefined : "Needs the admin scope";
  return (
    <form
      className="bar"
      aria-label="Names of versions"
      onSubmit={(event) => {
        event.preventDefault();
        name.mutate({ label, version: Number(chosen) });
      }}
    >
      <TextInput aria-label="Name for a version" placeholder="a name, such as stable" value={label} disabled={!may} maxLength={63} onChange={(event) => setLabel(event.currentTarget.value.toLowerCase())} w={190} />
      <Select aria-label="Version to name" data={versions.map((each) => ({ value: String(each.version), label: `version ${each.version}` }))} value={chosen} disabled={!may} onChange={setVersion} w={120} />
      <Button type="submit" variant="default" disabled={!may || label === ""} loading={name.isPending} title={reason}>
        Save name
      </Button>
      {given.map((each) => (
        <button key={each} type="button" className="link" disabled={!may} title={reason} onClick={() => name.mutate({ label: each })}>
          Remove {each}
        </button>
      ))}
      {name.error === null ? null : <Failed error={name.error} />}
    </form>
  );
}
