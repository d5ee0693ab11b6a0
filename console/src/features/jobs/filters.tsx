import { Menu, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Plus, Search, X } from "lucide-react";
import { useState } from "react";
import type { Query } from "../../api/client";
import { visible } from "../../shared/code/ansi";
import { Icon } from "../../shared/values/icon";

export const KINDS = ["execute", "transform", "document", "search", "ingest", "records", "flow", "detect"];
const SINCE = [
  { value: "1", label: "Last hour" },
  { value: "24", label: "Last 24 h" },
  { value: "168", label: "Last 7 days" },
  { value: "720", label: "Last 30 days" },
];
/** What the address may hold of the list's filters, and the words for a chip. */
const NAMES: Readonly<Record<string, string>> = {
  kind: "Type",
  state: "State",
  label: "Label",
  q: "Title",
  model: "Model",
  provider: "Provider",
  prompt: "Prompt",
  error_code: "Error",
  failed_over: "Used fallback",
  warnings: "Warnings",
  replayed_from: "Retry of",
  batch_id: "Batch",
  conversation_id: "Conversation",
  hours: "Created",
};
/** Those that a person types or switches on; the others come with a link. */
const TYPED: readonly { name: string; placeholder: string }[] = [
  { name: "label", placeholder: "key=value" },
  { name: "error_code", placeholder: "e.g. providers_failed" },
  { name: "model", placeholder: "e.g. gpt-oss-120b" },
  { name: "provider", placeholder: "e.g. groq" },
];
const SWITCHED = ["failed_over", "warnings"] as const;
const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export type Url = Readonly<Record<string, string>>;
export type Change = (changes: Record<string, string | null>) => void;

export const chosen = (url: Url): string[] => Object.keys(NAMES).filter((name) => url[name] !== undefined);

/** The address as a query of the API; several values are separated by commas. */
export function queryOf(url: Url): Query {
  const { kind, state, hours, ...others } = Object.fromEntries(chosen(url).map((name) => [name, url[name]!]));
  const since = hours === undefined ? undefined : new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();
  return { ...others, kind: kind?.split(","), state: state?.split(","), created_after: since };
}

/** Whether a new job may belong to the list, as far as that is known here. */
export function fits(url: Url, job: { kind: string; state: string }): boolean {
  const among = (name: string, value: string): boolean => url[name] === undefined || url[name].split(",").includes(value);
  return among("kind", job.kind) && among("state", job.state);
}

/** A pasted ID of a job, which is opened and not searched for; null of other words. */
export function jobIdIn(words: string): string | null {
  return JOB_ID.test(words.trim()) ? words.trim().toLowerCase() : null;
}

export function Filters({ url, change }: { url: Url; change: Change }) {
  const [words, setWords] = useState(url.q ?? "");
  const [adding, setAdding] = useState<string | null>(null);
  const navigate = useNavigate();
  const search = (text: string): void => {
    const id = jobIdIn(text);
    if (id !== null) void navigate({ to: "/jobs/$id", params: { id } });
    else change({ q: text.trim() || null });
  };
  const shown = chosen(url).filter((name) => !["q", "state", "hours"].includes(name) && !(name === "kind" && !url.kind!.includes(",")));
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          search(words);
        }}
      >
        <TextInput
          data-filter
          aria-label="Search title or ID"
          placeholder="Search title or ID"
          leftSection={<Icon of={Search} />}
          rightSection={<kbd>/</kbd>}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
          onPaste={(event) => {
            const id = jobIdIn(event.clipboardData.getData("text"));
            if (id !== null) search(id);
          }}
          w={260}
        />
      </form>
      <Select aria-label="Type" placeholder="Any type" data={KINDS} value={url.kind?.includes(",") ? null : (url.kind ?? null)} clearable onChange={(kind) => change({ kind })} w={130} />
      <Select aria-label="Created" placeholder="Created: any time" data={SINCE} value={url.hours ?? null} clearable onChange={(hours) => change({ hours })} w={150} />
      {shown.map((name) => (
        <span key={name} className="chip">
          <span className="muted">{NAMES[name]}</span> {url[name] === "true" ? "yes" : visible(url[name]!)}
          <button type="button" className="icon-button" aria-label={`Remove filter ${NAMES[name]}`} onClick={() => change({ [name]: null })}>
            <Icon of={X} size={14} />
          </button>
        </span>
      ))}
      {adding === null ? null : <Typed name={adding} onDone={() => setAdding(null)} change={change} />}
      <Menu position="bottom-start">
        <Menu.Target>
          <button type="button" className="chip dashed">
            <Icon of={Plus} size={14} />
            Add filter
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          {TYPED.map(({ name }) => (
            <Menu.Item key={name} onClick={() => setAdding(name)}>
              {NAMES[name]}…
            </Menu.Item>
          ))}
          {SWITCHED.map((name) => (
            <Menu.Item key={name} onClick={() => change({ [name]: "true" })}>
              {NAMES[name]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

function Typed({ name, onDone, change }: { name: string; onDone: () => void; change: Change }) {
  const [value, setValue] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (value.trim() !== "") change({ [name]: value.trim() });
        onDone();
      }}
    >
      <TextInput autoFocus aria-label={NAMES[name]} placeholder={`${NAMES[name]}: ${TYPED.find((each) => each.name === name)?.placeholder}`} value={value} onChange={(event) => setValue(event.currentTarget.value)} onBlur={() => value === "" && onDone()} w={220} />
    </form>
  );
}
