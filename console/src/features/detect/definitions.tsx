import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post, put } from "../../api/client";
import { CodeEditor } from "../../shared/editor";
import { Failed, Loaded } from "../../shared/states";
import { WriteButton } from "../../shared/write";

interface Definitions_ {
  version: number;
  definitions: unknown[];
}

/** One's own rules, as JSON: checked before they are kept, each save a version. */
export function Definitions() {
  const query = useQuery({ queryKey: ["definitions"], queryFn: () => get<Definitions_>("/v1/stacks/definitions") });
  return (
    <details className="panel">
      <summary>Own rules</summary>
      <Loaded query={query}>{(now) => <Editor key={now.version} now={now} onSaved={() => void query.refetch()} />}</Loaded>
    </details>
  );
}

function Editor({ now, onSaved }: { now: Definitions_; onSaved: () => void }) {
  const [text, setText] = useState(JSON.stringify(now.definitions, null, 2));
  const check = useMutation({ mutationFn: () => post<Record<string, unknown>>("/v1/stacks/definitions/check", { definitions: JSON.parse(text) as unknown }) });
  const save = useMutation({ mutationFn: () => put("/v1/stacks/definitions", { definitions: JSON.parse(text) as unknown }), onSuccess: onSaved });
  const fault = check.error ?? save.error;
  return (
    <div className="stack">
      <span className="muted">Version {now.version}. A rule has id, kind, name, files and dependencies.</span>
      <CodeEditor label="Own rules" language="javascript" value={text} onChange={setText} minHeight={120} />
      <div className="bar">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check
        </Button>
        <WriteButton loading={save.isPending} onClick={() => save.mutate()}>
          Save as version {now.version + 1}
        </WriteButton>
        {check.data === undefined ? null : <span className="good">They fit.</span>}
      </div>
      {fault === null ? null : <Failed error={fault} />}
    </div>
  );
}
