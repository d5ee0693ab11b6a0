import { tierWords } from "../../shared/values/isolation";

type Facts = Readonly<Record<string, unknown>>;

interface Worker {
  alive: boolean;
  kinds: readonly string[];
  facts: Facts;
}

interface Language {
  available?: boolean;
  version?: string | null;
  reason?: string | null;
}

/** Why a worker does not do all that its service can: it is on standby, does a kind by half, lacks a language, or is silent. */
export function whyNot({ alive, kinds, facts }: Worker): string[] {
  const reasons: string[] = [];
  if (!alive) reasons.push("it has not reported for six seconds");
  if (typeof facts.unavailable === "string") reasons.push(facts.unavailable);
  else if (kinds.length === 0) reasons.push("on standby, no reason reported");
  for (const [kind, reason] of entriesOf(facts.degraded)) reasons.push(`${kind}: ${String(reason)}`);
  for (const [name, language] of entriesOf(facts.languages) as [string, Language][]) {
    if (language.available === false) reasons.push(`no ${name}${language.reason ? `: ${language.reason}` : ""}`);
  }
  return reasons;
}

/** Capabilities, as words: the languages that it has, the tier of isolation, and whatever else there is. */
export function saysOf(facts: Facts): string {
  const said = [];
  for (const [name, value] of Object.entries(facts)) {
    if (name === "unavailable" || name === "degraded") continue;
    if (name === "languages") said.push(languagesOf(value));
    else if (name === "isolation") said.push(isolationOf(value));
    else said.push(`${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  }
  return said.filter((words) => words !== "").join("; ");
}

function languagesOf(languages: unknown): string {
  return (entriesOf(languages) as [string, Language][])
    .filter(([, language]) => language.available !== false)
    .map(([name, { version }]) => `${name} ${version ?? ""}`.trim())
    .join(", ");
}

function isolationOf(isolation: unknown): string {
  const { tier, minimum } = Object.fromEntries(entriesOf(isolation)) as { tier?: string; minimum?: string };
  if (tier === undefined || tier === "none") return "";
  return `code runs in ${tierWords(tier)}${minimum === undefined || minimum === tier ? "" : `, demanded: ${tierWords(minimum)}`}`;
}

function entriesOf(value: unknown): [string, unknown][] {
  return value !== null && typeof value === "object" ? Object.entries(value) : [];
}
