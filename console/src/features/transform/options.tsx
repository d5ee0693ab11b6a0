import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Models } from "../../api/types";
import type { Faults } from "../../shared/editing/field-errors";
import type { Draft } from "./draft";
import { NumberInput } from "../../shared/editing/number-input";

/** Language and result, the model that is called, and how much the job may use. */
export function Options({ draft, change, faults }: { draft: Draft; change: (part: Partial<Draft>) => void; faults: Faults }) {
  const models = useQuery({ queryKey: ["models"], queryFn: () => get<Models>("/v1/models") });
  const names = (models.data?.available ?? []).map((each) => `${String(each.provider)}/${String(each.model)}`);
  const offered = [...new Set([...names, ...(draft.model === null ? [] : [draft.model])])];
  return (
    <>
      <div className="bar">
        <Select label="Language" error={faults.at("input.language")} data={["python", "r", "sql"]} value={draft.language} onChange={(value) => change({ language: value as Draft["language"] })} w={110} />
        <Select label="Result" error={faults.at("input.output")} data={["table", "plot"]} value={draft.output} onChange={(value) => change({ output: value as Draft["output"] })} w={100} />
        <Select label="Model" error={faults.at("model")} placeholder="Default model" data={offered} value={draft.model} onChange={(model) => change({ model })} searchable clearable style={{ flex: 1, minWidth: 200 }} />
      </div>
      <div className="bar">
        <NumberInput label="Max model calls" error={faults.at("input.max_iterations")} min={1} max={20} value={draft.rounds} onChange={(rounds) => change({ rounds: Number(rounds) || 1 })} w={140} />
        <Limit label="Timeout (s)" error={faults.at("budget.seconds")} most={3600} value={draft.seconds} onChange={(seconds) => change({ seconds })} />
        <Limit label="Token limit" error={faults.at("budget.tokens")} most={100_000_000} value={draft.tokens} onChange={(tokens) => change({ tokens })} />
      </div>
    </>
  );
}

function Limit({ label, error, most, value, onChange }: { label: string; error: string | undefined; most: number; value: number | null; onChange: (value: number | null) => void }) {
  return <NumberInput label={label} error={error} placeholder="no limit" min={1} max={most} value={value ?? ""} onChange={(typed) => onChange(typed === "" ? null : Number(typed))} w={130} />;
}
