import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Query } from "../../api/client";
import { visible } from "../../shared/code/ansi";
import { Checkbox } from "../../shared/editing/checkbox";

export const KINDS = ["execute", "transform", "document", "search", "ingest", "records", "flow", "detect"];
const STATES = ["queued", "running", "succeeded", "failed", "cancelled", "dead"];
const SINCE = [
  { value: "1", label: "last hour" },
  { value: "24", label: "last day" },
  { value: "168", label: "last week" },
];
/** What the address may hold of the list's filters, and the words for a chip. */
const NAMES: Readonly<Record<string, string>> = {
  kind: "kind",
  state: "state",
  label: "label",
  q: "about",
  model: "model",
  provider: "provider",
  prompt: "prompt",
  error_code: "error",
  failed_over: "failed over",
  warnings: "warnings",
  replayed_from: "replay of",
  batch_id: "batch",
  conversation_id: "conversation",
  hours: "hours",
};

export type Url = Readonly<Record<string, string>>;
export type Change = (changes: Record<string, string | null>) => void;

export const chosen = (url: Url): string[] => Object.keys(NAMES).filter((name) => url[name] !== undefined);

/** The address as a query of the API; several values stand separated by commas. */
export function queryOf(url: Url): Query {
  const { kind, state, hours, ...others } = Object.fromEntries(chosen(url).map((name) => [name, url[name]!]));
  const since = hours === undefined ? undefined : new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();
  return { ...others, kind: kind?.split(","), state: state?.split(","), created_after: since };
}

/** Whether a new job may belong to the list, as far as that can be told here. */
export function fits(url: Url, job: { kind: string; state: string }): boolean {
  const among = (name: string, value: string): boolean => url[name] === undefined || url[name].split(",").includes(value);
  return among("kind", job.kind) && among("state", job.state);
}

export function Filters({ url, change }: { url: Url; change: Change }) {
  const [words, setWords] = useState(url.q ?? "");
  const [label, setLabel] = useState(url.label ?? "");
  const running = url.state === "queued,running";
  return (
    <div className="bar">
      <form
        className="bar"
        onSubmit={(event) => {
          event.preventDefault();
          change({ q: words.trim() || null, label: label.trim() || null });
        }}
      >
        <TextInput data-filter aria-label="What it was about" placeholder="What it was about" value={words} onChange={(event) => setWords(event.currentTarget.value)} w={170} />
        <TextInput aria-label="Label" placeholder="label: key=value" value={label} onChange={(event) => setLabel(event.currentTarget.value)} w={130} />
        <Button type="submit" variant="default">
          Filter
        </Button>
      </form>
      <Select aria-label="Kind" placeholder="Any kind" data={KINDS} value={url.kind?.includes(",") ? null : (url.kind ?? null)} clearable onChange={(kind) => change({ kind })} w={110} />
      <Select aria-label="State" placeholder="Any state" data={STATES} value={url.state?.includes(",") ? null : (url.state ?? null)} clearable onChange={(state) => change({ state })} w={120} />
      <Select aria-label="Time" placeholder="Any time" data={SINCE} value={url.hours ?? null} clearable onChange={(hours) => change({ hours })} w={110} />
      <Checkbox label="In flight" checked={running} onChange={(event) => change({ state: event.currentTarget.checked ? "queued,running" : null })} />
      <Checkbox label="Failed over" checked={url.failed_over === "true"} onChange={(event) => change({ failed_over: event.currentTarget.checked ? "true" : null })} />
      <Checkbox label="With warnings" checked={url.warnings === "true"} onChange={(event) => change({ warnings: event.currentTarget.checked ? "true" : null })} />
      {chosen(url).map((name) => (
        <span key={name} className="tag accent">
          {NAMES[name]}: {visible(url[name]!)}{" "}
          <button type="button" className="link" aria-label={`Remove the filter ${NAMES[name]}`} onClick={() => change({ [name]: null })}>
            ×
          </button>
        </span>
      ))}
    </div>
  );
}
