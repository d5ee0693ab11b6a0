import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { get, post, Problem, put, tagged } from "../../api/client";
import type { Page as PageOf, Prompt } from "../../api/types";
import { useSession } from "../../app/shell";
import { Diff } from "../../shared/code";
import { CodeEditor } from "../../shared/editor";
import { Tag } from "../../shared/marks";
import { Failed, Loaded } from "../../shared/states";
import { useTitle } from "../../shared/title";
import { Trial } from "./trial";
import { faultsOf } from "./variables";
import { Versions } from "./versions";

export function Page() {
  const { key } = useParams({ strict: false }) as { key: string };
  useTitle(key);
  const query = useQuery({ queryKey: ["prompt", key], queryFn: () => tagged<Prompt>(`/v1/prompts/${key}`) });
  const versions = useQuery({ queryKey: ["prompt-versions", key], queryFn: () => get<PageOf<Prompt>>(`/v1/prompts/${key}/versions`, { limit: 200 }) });
  const refetch = (): void => {
    void query.refetch();
    void versions.refetch();
  };
  return (
    <>
      <div className="head">
        <Link to="/prompts" className="plain">
          Prompts
        </Link>
        <h1>{key}</h1>
      </div>
      <Loaded query={query}>
        {({ value, tag }) => (
          <div className="cols even">
            <Editor key={value.version} prompt={value} tag={tag} onChanged={refetch} onReload={refetch} />
            <Loaded query={versions}>{(page) => <Versions prompt={value} versions={page.items} onChanged={refetch} />}</Loaded>
          </div>
        )}
      </Loaded>
    </>
  );
}

interface EditorProps {
  prompt: Prompt;
  tag: string | null;
  onChanged: () => void;
  onReload: () => void;
}

/** The text, checked for its variables while one types; publishing it is a version that workers follow within two seconds. */
function Editor({ prompt, tag, onChanged, onReload }: EditorProps) {
  const [text, setText] = useState(prompt.text);
  const [note, setNote] = useState("");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const faults = faultsOf(text, prompt.variables);
  const publish = useMutation({
    mutationFn: () => put<Prompt>(`/v1/prompts/${prompt.key}`, { text, note: note.trim() || undefined }, tag === null ? {} : { "If-Match": tag }),
    onSuccess: onChanged,
  });
  const reset = useMutation({ mutationFn: () => post<Prompt>(`/v1/prompts/${prompt.key}/reset`), onSuccess: onChanged });
  const overtaken = publish.error instanceof Problem && publish.error.status === 412;
  return (
    <div className="stack">
      <div className="bar">
        <Tag>version {prompt.version} in use</Tag>
        {prompt.is_default ? <Tag>as it came</Tag> : <Tag tone="accent">changed</Tag>}
        <span className="spacer" />
        <Button variant="default" disabled={!admin || prompt.is_default} loading={reset.isPending} title={admin ? undefined : "needs scope admin"} onClick={() => reset.mutate()}>
          Reset to the built-in text
        </Button>
        <Button disabled={!admin || text === prompt.text || faults.length > 0} loading={publish.isPending} title={admin ? undefined : "needs scope admin"} onClick={() => publish.mutate()}>
          Publish
        </Button>
      </div>
      {faults.map((fault) => (
        <p key={fault} className="callout bad" role="alert">
          {fault}
        </p>
      ))}
      {publish.error === null ? null : <Failed error={publish.error} />}
      {overtaken ? (
        <Button variant="default" onClick={onReload}>
          Somebody published meanwhile: load their version
        </Button>
      ) : null}
      <CodeEditor label="Text of the prompt" language="markdown" value={text} onChange={setText} minHeight={320} />
      {text === prompt.text ? null : (
        <section>
          <h3>What would change</h3>
          <Diff before={prompt.text} after={text} />
          <TextInput label="Why, for the list of versions" value={note} maxLength={500} onChange={(event) => setNote(event.currentTarget.value)} />
        </section>
      )}
      {faults.length > 0 ? null : <Trial prompt={prompt} text={text} />}
    </div>
  );
}
