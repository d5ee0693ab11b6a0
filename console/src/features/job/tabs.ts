import type { Job, JobEvent } from "../../api/types";

export interface Tab {
  value: string;
  name: string;
}

export function tabsOf(job: Job, attempts: number, events: readonly JobEvent[]): Tab[] {
  const has = (type: string): boolean => events.some((event) => event.type === type);
  const asked = Boolean(job.usage?.llm_calls) || has("llm_call");
  return [
    { value: "result", name: "Result" },
    ...(attempts > 0 ? [{ value: "attempts", name: `Attempts ${attempts}` }] : []),
    ...(asked ? [{ value: "models", name: "Models" }, { value: "prompt", name: "Prompt" }] : []),
    ...(has("output") ? [{ value: "output", name: "Output" }] : []),
    { value: "events", name: `Events ${events.length}` },
    { value: "input", name: "Input" },
  ];
}

const PLACE = "assay.job.tabs";

/** The part to show of a job whose address names none: the one that was chosen last of a job of this kind, if this one has it. */
export function tabOf(job: Job, tabs: readonly Tab[], kept = keptOf(localStorage.getItem(PLACE))): string {
  const has = (value: string | undefined): boolean => tabs.some((tab) => tab.value === value);
  const wanted = kept[job.kind];
  if (wanted !== undefined && has(wanted) && (wanted !== "result" || job.result !== null)) return wanted;
  return job.result !== null ? "result" : has("attempts") ? "attempts" : "events";
}

/** This browser keeps it. */
export function keepTab(kind: string, tab: string | null): void {
  if (tab !== null) localStorage.setItem(PLACE, JSON.stringify({ ...keptOf(localStorage.getItem(PLACE)), [kind]: tab }));
}

/** What the browser has kept, by kind; whatever of that is not a name is left out. */
export function keptOf(text: string | null): Readonly<Record<string, string>> {
  let read: unknown;
  try {
    read = JSON.parse(text ?? "{}");
  } catch {
    return {};
  }
  if (typeof read !== "object" || read === null) return {};
  return Object.fromEntries(Object.entries(read).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
