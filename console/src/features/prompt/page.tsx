import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { get, postOver, putOver, tagged, type Tagged } from "../../api/client";
import type { Page as PageOf, Prompt } from "../../api/types";
import { useSession } from "../../app/shell";
import { Diff } from "../../shared/code/code";
import { useDraft } from "../../shared/editing/draft";
import { BothVersions, useEdited } from "../../shared/editing/edited";
import { CodeEditor } from "../../shared/code/editor";
import { Icon } from "../../shared/values/icon";
import { StateMark, Tag } from "../../shared/values/marks";
import { ROLE_NAMES } from "../../shared/values/role-names";
import { faultsOf } from "../../shared/editing/field-errors";
import { useConditionalWrite } from "../../shared/editing/conditional-write";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { OtherPrompts } from "./others";
import { Trial } from "./trial";
import { faultsOf as faultsInText } from "./variables";
import { Versions } from "./versions";
import { VersionAuthor } from "./version-author";

export function Page() {
  const { key } = useParams({ strict: false }) as { key: string };
  useTitle(key);
  const query = useQuery({ queryKey: ["prompt", key], queryFn: () => tagged<Prompt>(`/v1/prompts/${key}`) });
  const versions = useQuery({ queryKey: ["prompt-versions", key], queryFn: () => get<PageOf<Prompt>>(`/v1/prompts/${key}/versions`, { limit: 200 }) });
  const read = async (): Promise<Tagged<Prompt>> => {
    const { data } = await query.refetch({ throwOnError: true });
    // Afterwards, else the version that is in use looks like one that is still to be published.
    void versions.refetch();
    return data!;
  };
  return (
    <Loaded query={query}>
      {({ value, tag }) => (
        <Editor key={key} now={{ value, tag }} read={read} builtIn={versions.data?.items.find((each) => each.is_default)?.text ?? ""}>
          <Loaded query={versions}>{(page) => <Versions now={{ value, tag }} versions={page.items} read={read} />}</Loaded>
        </Editor>
      )}
    </Loaded>
  );
}

interface EditorProps {
  now: Tagged<Prompt>;
  read: () => Promise<Tagged<Prompt>>;
  /** The newest version of it that was used. */
  builtIn: string;
  /** Its versions, below it. */
  children: ReactNode;
}

const textOf = (prompt: Prompt): string => prompt.text;

/** The text, checked for its variables while one types; publishing it is a version that workers follow within two seconds. */
function Editor({ now, read, builtIn, children }: EditorProps) {
  const prompt = now.value;
  const [note, setNote] = useDraft(`prompt-note.${prompt.key}`, "");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const edited = useEdited({
    name: `prompt.${prompt.key}`,
    now,
    draftOf: textOf,
    read,
    write: async (text: string, tag) => {
      await putOver<Prompt>(`/v1/prompts/${prompt.key}`, { text, note: note.trim() || undefined }, tag);
      setNote("");
    },
  });
  const { draft: text, before } = edited;
  const faults = faultsInText(text, prompt.variables);
  const said = faultsOf(edited.error, ["text", "note"]);
  const reset = useConditionalWrite({ base: now, partOf: textOf, read, write: (_: "reset", tag) => postOver<Prompt>(`/v1/prompts/${prompt.key}/reset`, undefined, tag) });
  const { required } = prompt.variables;
  return (
    <>
      <div className="head">
        <div className="title">
          <div className="crumb">
            <Link to="/prompts">Prompts</Link> <Icon of={ChevronRight} size={14} /> <span className="mono">{prompt.key}</span>
          </div>
          <div className="bar">
            <h1>{ROLE_NAMES[prompt.key] ?? prompt.key}</h1>
            <Tag>version {prompt.version} in use</Tag>
            {prompt.is_default ? <Tag>Default</Tag> : <Tag tone="accent">Customized</Tag>}
            {edited.changed ? <Tag tone="warn">draft, not published</Tag> : null}
          </div>
        </div>
        <div className="bar acts">
          {edited.changed ? (
            <Button variant="subtle" onClick={edited.drop}>
              Discard draft
            </Button>
          ) : null}
          <Button variant="default" disabled={!admin || prompt.is_default} loading={reset.pending} title={admin ? undefined : "Needs the admin scope"} onClick={() => reset.act("reset")}>
            Reset to default
          </Button>
          <Button disabled={!admin || !edited.changed || faults.length > 0} loading={edited.saving} title={admin ? undefined : "Needs the admin scope"} onClick={edited.save}>
            Publish
          </Button>
        </div>
      </div>
      <div className="cols list">
        <OtherPrompts open={prompt.key} />
        <div className="sections">
          <div className="stack">
            {faults.map((fault) => (
              <p key={fault} className="callout bad" role="alert">
                {fault}
              </p>
            ))}
            {edited.error === null ? null : <Failed error={edited.error} faults={said} />}
            {reset.error === null ? null : <Failed error={reset.error} />}
            <BothVersions conflict={edited.conflict} saving={edited.saving} theirs={textOf} mine={(draft) => draft} who={(theirs) => <VersionAuthor version={theirs} />} />
            <BothVersions conflict={reset.conflict} saving={reset.pending} theirs={textOf} mine={() => builtIn} who={(theirs) => <VersionAuthor version={theirs} />} />
            <CodeEditor label="Text of the prompt" language="markdown" value={text} onChange={edited.change} error={said.at("text")} minHeight={320} />
            <div className="bar small">
              {[...required, ...prompt.variables.optional].length === 0 ? null : <span className="muted">Variables</span>}
              {required.map((name) => (
                <Tag key={name} tone="accent">
                  <span className="mono">{name}</span>
                </Tag>
              ))}
              {prompt.variables.optional.map((name) => (
                <Tag key={name}>
                  <span className="mono">{name}?</span>
                </Tag>
              ))}
              <span className="spacer" />
              {faults.length > 0 || required.length === 0 ? null : <StateMark of={{ word: required.length === 1 ? "The required variable is used" : `All ${required.length} required variables are used`, icon: "check", tone: "good" }} />}
            </div>
            {!edited.changed ? null : (
              <section className="stack">
                <h2>Changes</h2>
                <Diff before={before} after={text} />
                <TextInput label="Change note" error={said.at("note")} value={note} maxLength={500} onChange={(event) => setNote(event.currentTarget.value)} />
              </section>
            )}
          </div>
          {faults.length > 0 ? null : <Trial prompt={prompt} text={text} />}
          {children}
        </div>
      </div>
    </>
  );
}
