import { Menu, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Plus, Search, X } from "lucide-react";
import { useState } from "react";
import type { Query } from "../../api/client";
import type { Job } from "../../api/types";
import { GROUPS } from "./counts-of";
import { outcomeOf, outcomesOf } from "../../shared/values/states";
import { visible } from "../../shared/code/ansi";
import { Icon } from "../../shared/values/icon";

export const KINDS = ["execute", "transform", "document", "search", "ingest", "records", "flow", "detect"];
/** The choice of a beginning and an end, which the address holds as local times. */
const BETWEEN = "between";
const SINCE = [
  { value: "1", label: "Last hour" },
  { value: "24", label: "Last 24 h" },
  { value: "168", label: "Last 7 days" },
  { value: "720", label: "Last 30 days" },
  { value: BETWEEN, label: "From … to …" },
];
/** What the address may hold of the list's filters, and the words for a chip. */
const NAMES: Readonly<Record<string, string>> = {
  kind: "Type",
  state: "State",
  outcome: "Outcome",
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
  from: "From",
  to: "To",
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
  const { kind, state, outcome, hours, from, to, ...others } = Object.fromEntries(chosen(url).map((name) => [name, url[name]!]));
  const back = Number(hours) * 3_600_000;
  const since = hours === undefined || Number.isNaN(back) ? timeOf(from) : new Date(Math.floor(Date.now() / 60_000) * 60_000 - back).toISOString();
  return { ...others, kind: kind?.split(","), state: state?.split(","), outcome: outcome === undefined ? undefined : wantedOutcomes(outcome), created_after: since, created_before: timeOf(to) };
}

/** A local time of the address as one of the API; undefined for any other text. */
function timeOf(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

/** The names of groups as their outcomes; an outcome is its own name. */
function wantedOutcomes(text: string): string[] {
  return text.split(",").flatMap((name) => {
    const those = outcomesOf(name);
    return those.length > 0 ? those : [name];
  });
}

/** Whether a new job may belong to the list, as far as that is known here. */
export function fits(url: Url, job: Pick<Job, "kind" | "state" | "verdict" | "error">): boolean {
  const among = (name: string, value: string): boolean => url[name] === undefined || url[name].split(",").includes(value);
  const wanted = url.outcome === undefined ? null : wantedOutcomes(url.outcome);
  return among("kind", job.kind) && among("state", job.state) && (wanted === null || wanted.includes(job.state) || wanted.includes(outcomeOf(job)));
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
  const shown = chosen(url).filter((name) => !["q", "hours", "from", "to"].includes(name) && !(name === "outcome" && GROUPS.some((group) => group.name === url.outcome)) && !(name === "kind" && !url.kind!.includes(",")));
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
      <Select aria-label="Created" placeholder="Created: any time" data={SINCE} value={url.hours ?? (url.from || url.to ? BETWEEN : null)} clearable onChange={(hours) => change({ hours, from: null, to: null })} w={150} />
      {url.hours === BETWEEN || url.from || url.to
        ? (["from", "to"] as const).map((end) => <TextInput key={end} type="datetime-local" aria-label={`Created ${end}`} defaultValue={url[end] ?? ""} onChange={(event) => change({ [end]: event.currentTarget.value || null })} w={190} />)
        : null}
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
