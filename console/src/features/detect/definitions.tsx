import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { post, putOver, tagged, type Tagged } from "../../api/client";
import { Conflict, useEdited } from "../../shared/edited";
import { CodeEditor } from "../../shared/editor";
import { faultsOf } from "../../shared/faults";
import { Failed, Loaded } from "../../shared/states";
import { WriteButton } from "../../shared/write";

interface Definitions_ {
  version: number;
  definitions: unknown[];
}

/** One's own rules, as JSON: checked before they are kept, each save a version. */
export function Definitions() {
  const query = useQuery({ queryKey: ["definitions"], queryFn: () => tagged<Definitions_>("/v1/stacks/definitions") });
  const read = async (): Promise<Tagged<Definitions_>> => (await query.refetch({ throwOnError: true })).data!;
  return (
    <details className="panel">
      <summary>Own rules</summary>
      <Loaded query={query}>{(now) => <Editor now={now} read={read} />}</Loaded>
    </details>
  );
}

const textOf = ({ definitions }: Definitions_): string => JSON.stringify(definitions, null, 2);

function Editor({ now, read }: { now: Tagged<Definitions_>; read: () => Promise<Tagged<Definitions_>> }) {
  const edited = useEdited({
    now,
    draftOf: textOf,
    read,
    write: (text: string, tag) => putOver("/v1/stacks/definitions", { definitions: JSON.parse(text) as unknown }, tag),
  });
  const text = edited.draft;
  const { version } = now.value;
  const check = useMutation({ mutationFn: () => post<Record<string, unknown>>("/v1/stacks/definitions/check", { definitions: JSON.parse(text) as unknown }) });
  const fault = check.error ?? edited.error;
  const faults = faultsOf(fault, ["definitions"]);
  return (
    <div className="stack">
      <span className="muted">Version {version}. A rule has id, kind, name, files and dependencies.</span>
      <CodeEditor label="Own rules" language="javascript" value={text} onChange={edited.change} minHeight={120} error={faults.at("definitions")} />
      <div className="bar">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check
        </Button>
        <WriteButton loading={edited.saving} onClick={edited.save}>
          Save as version {version + 1}
        </WriteButton>
        {check.data === undefined ? null : <span className="good">They fit.</span>}
      </div>
      {fault === null ? null : <Failed error={fault} faults={faults} />}
      <Conflict edited={edited} draftOf={textOf} textOf={(draft) => draft} who={(theirs) => `It is version ${theirs.version}.`} />
    </div>
  );
}
