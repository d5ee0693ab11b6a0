import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, putOver, tagged, type Tagged } from "../../api/client";
import type { components } from "../../api/schema";
import type { DefinitionSet } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { useDraft } from "../../shared/editing/draft";
import { BothVersions, useEdited } from "../../shared/editing/edited";
import { CodeEditor } from "../../shared/code/editor";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { Proposals } from "./proposals";
import { Versions } from "./versions";
import { VersionAuthor } from "./version-author";

type Check = components["schemas"]["DefinitionsCheck"];

const EXAMPLE = "# definitions:\n#   - id: acme-gate\n#     kind: framework\n#     name: Acme Gate\n#     files: [acme.toml]\n";

/** The tenant's rules: the text in use, its versions, and what models named repeatedly without a rule. */
export function Definitions() {
  const [url] = useUrl();
  const [open, setOpen] = useState(url.rules !== undefined || url.proposal !== undefined);
  const client = useQueryClient();
  const query = useQuery({ queryKey: ["definitions"], queryFn: () => tagged<DefinitionSet>("/v1/stacks/definitions"), enabled: open });
  const read = async (): Promise<Tagged<DefinitionSet>> => {
    void client.invalidateQueries({ queryKey: ["definitions", "versions"] });
    return (await query.refetch({ throwOnError: true })).data!;
  };
  const changed = (): void => void client.invalidateQueries({ queryKey: ["definitions"] });
  return (
    <details className="panel" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Custom rules</summary>
      {open ? (
        <Loaded query={query}>
          {(now) => (
            <div className="stack">
              <Editor now={now} read={read} />
              <Versions now={now} read={read} />
              <Proposals onChanged={changed} />
            </div>
          )}
        </Loaded>
      ) : null}
    </details>
  );
}

const textOf = (set: DefinitionSet): string => (set.yaml === "" ? EXAMPLE : set.yaml);

/** The rules as YAML, kept as they are written: checked before they are kept, each save a version. */
function Editor({ now, read }: { now: Tagged<DefinitionSet>; read: () => Promise<Tagged<DefinitionSet>> }) {
  const { version } = now.value;
  const [note, setNote] = useDraft("definitions-note", "");
  const edited = useEdited({
    name: "definitions",
    now,
    draftOf: textOf,
    read,
    write: async (yaml: string, tag) => {
      await putOver("/v1/stacks/definitions", { yaml, note: note.trim() || undefined }, tag);
      setNote("");
    },
  });
  const { draft: text } = edited;
  const check = useMutation({ mutationFn: () => post<Check>("/v1/stacks/definitions/check", { yaml: text }) });
  const fault = edited.error ?? check.error;
  const said = faultsOf(fault, ["note"]);
  return (
    <div className="stack">
      <span className="muted">
        {version === 0 ? "None yet." : `Version ${version}.`} A rule has id, kind, name, and files or dependencies that prove it.
      </span>
      <CodeEditor
        label="Custom rules"
        language="yaml"
        value={text}
        onChange={(changed) => {
          edited.change(changed);
          check.reset();
        }}
        minHeight={120}
      />
      <div className="bar">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check
        </Button>
        <WriteButton loading={edited.saving} disabled={!edited.changed} onClick={edited.save}>
          Save as version {version + 1}
        </WriteButton>
        {check.data === undefined ? null : <span className="good">✓ {check.data.definitions.length} rules, they fit.</span>}
      </div>
      {edited.changed ? <TextInput label="Change note" error={said.at("note")} value={note} maxLength={500} onChange={(event) => setNote(event.currentTarget.value)} /> : null}
      {(check.data?.warnings ?? []).map((warning) => (
        <p key={warning} className="callout warn">
          {visible(warning)}
        </p>
      ))}
      {fault === null ? null : <Failed error={fault} faults={said} />}
      <BothVersions conflict={edited.conflict} saving={edited.saving} theirs={textOf} mine={(draft) => draft} who={(theirs) => <VersionAuthor version={theirs} />} />
    </div>
  );
}
