import { Select } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { callsQuery } from "../../api/queries";
import type { Job, LlmCall, Page, Prompt } from "../../api/types";
import { visible } from "../../shared/code/ansi";

/** Which version of its prompts a replay uses; a job that called no model has none to choose. */
export function PromptVersion({ job, value, onChange }: { job: Job; value: string | null; onChange: (version: string | null) => void }) {
  const calls = useQuery(callsQuery(job.id, true)).data ?? [];
  const used = usedOf(calls);
  const lists = useQueries({ queries: [...used.keys()].map((key) => ({ queryKey: ["prompt-versions", key], queryFn: () => get<Page<Prompt>>(`/v1/prompts/${key}/versions`, { limit: 200 }) })) });
  if (used.size === 0) return null;
  const versions = choicesOf(lists.flatMap((list) => list.data?.items ?? []));
  const was = [...used].map(([key, numbers]) => `${key} was ${numbers.map((number) => `v${number}`).join(", ")}`).join("; ");
  const many = used.size > 1 ? "; a number holds for each of them that has it" : "";
  return <Select label="Version of the prompt" description={visible(`${was}${many}`)} placeholder="the one in use" data={versions} value={value} clearable onChange={onChange} maw={460} />;
}

/** The prompts that the job's calls were made with, and the versions of each. */
export function usedOf(calls: readonly LlmCall[]): Map<string, number[]> {
  const used = new Map<string, number[]>();
  for (const { prompt } of calls) {
    if (prompt === null) continue;
    const known = used.get(prompt.key) ?? [];
    if (!known.includes(prompt.version)) used.set(prompt.key, [...known, prompt.version]);
  }
  return used;
}

/** Each number once, the newest first, with what is said of it. */
export function choicesOf(versions: readonly Prompt[]): { value: string; label: string }[] {
  const said = new Map<number, string[]>();
  for (const { version, note, labels } of versions) said.set(version, [...(said.get(version) ?? []), ...(note ? [note] : []), ...(labels ?? [])]);
  return [...said].sort(([one], [other]) => other - one).map(([version, words]) => ({ value: String(version), label: visible([`version ${version}`, ...new Set(words)].join(" · ")) }));
}
