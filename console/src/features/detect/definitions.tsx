import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, Problem, put, tagged } from "../../api/client";
import type { components } from "../../api/schema";
import { visible } from "../../shared/ansi";
import { CodeEditor } from "../../shared/editor";
import { Failed, Loaded } from "../../shared/states";
import { useUrl } from "../../shared/url";
import { WriteButton } from "../../shared/write";
import { Proposals } from "./proposals";
import { Versions } from "./versions";

export type DefinitionSet = components["schemas"]["DefinitionSet"];
type Check = components["schemas"]["DefinitionsCheck"];

const EXAMPLE = "# definitions:\n#   - id: acme-gate\n#     kind: framework\n#     name: Acme Gate\n#     files: [acme.toml]\n";

/** One's own rules: the text in use, its versions, and what models named again and again without one. */
export function Definitions() {
  const [url] = useUrl();
  const [open, setOpen] = useState(url.rules !== undefined || url.proposal !== undefined);
  const client = useQueryClient();
  const query = useQuery({ queryKey: ["definitions"], queryFn: () => tagged<DefinitionSet>("/v1/stacks/definitions"), enabled: open });
  const changed = (): void => void client.invalidateQueries({ queryKey: ["definitions"] });
  return (
    <details className="panel" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Own rules</summary>
      {open ? (
        <Loaded query={query}>
          {({ value, tag }) => (
            <div className="stack">
              <Editor key={value.version} now={value} tag={tag} onChanged={changed} />
              <Versions current={value.version} onChanged={changed} />
              <Proposals onChanged={changed} />
            </div>
          )}
        </Loaded>
      ) : null}
    </details>
  );
}

/** The rules as YAML, kept as they are written: checked before they are kept, each save a version. */
function Editor({ now, tag, onChanged }: { now: DefinitionSet; tag: string | null; onChanged: () => void }) {
  const [text, setText] = useState(now.yaml === "" ? EXAMPLE : now.yaml);
  const check = useMutation({ mutationFn: () => post<Check>("/v1/stacks/definitions/check", { yaml: text }) });
  const save = useMutation({ mutationFn: () => put("/v1/stacks/definitions", { yaml: text }, tag === null ? {} : { "If-Match": tag }), onSuccess: onChanged });
  const fault = save.error ?? check.error;
  return (
    <div className="stack">
      <span className="muted">
        {now.version === 0 ? "None yet." : `Version ${now.version}.`} A rule has id, kind, name, and files or dependencies that prove it.
      </span>
      <CodeEditor
        label="Own rules"
        language="yaml"
        value={text}
        onChange={(changed) => {
          setText(changed);
          check.reset();
        }}
        minHeight={120}
      />
      <div className="bar">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check
        </Button>
        <WriteButton loading={save.isPending} disabled={text === now.yaml} onClick={() => save.mutate()}>
          Save as version {now.version + 1}
        </WriteButton>
        {check.data === undefined ? null : <span className="good">✓ {check.data.definitions.length} rules, they fit.</span>}
      </div>
      {(check.data?.warnings ?? []).map((warning) => (
        <p key={warning} className="callout warn">
          {visible(warning)}
        </p>
      ))}
      {fault === null ? null : <Failed error={fault} />}
      {save.error instanceof Problem && save.error.status === 412 ? (
        <Button variant="default" onClick={onChanged}>
          Somebody saved meanwhile: load their version
        </Button>
      ) : null}
    </div>
  );
}
