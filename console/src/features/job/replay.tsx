import { Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import type { Job } from "../../api/types";
import { Diff } from "../../shared/code/code";
import { Fault, faultsOf, invalid } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { PromptVersion } from "./prompt-version";
import { jsonFault } from "../../shared/json/json-fault";
import { NumberInput } from "../../shared/editing/number-input";

/** The same job with another input: what one changes is shown as a difference before it runs. */
export default function Replay({ job, onClose }: { job: Job; onClose: () => void }) {
  const original = JSON.stringify(job.input, null, 2);
  const [text, setText] = useState(original);
  const [model, setModel] = useState("");
  const [turns, setTurns] = useState<number | string>("");
  const [version, setVersion] = useState<string | null>(null);
  const navigate = useNavigate();
  const fault = jsonFault(text);
  const run = useMutation({
    mutationFn: () => {
      const budget = typeof turns === "number" ? { budget: { turns } } : {};
      return post<Job>(`/v1/jobs/${job.id}/replay`, { input: JSON.parse(text) as unknown, ...(model === "" ? {} : { model }), ...(version === null ? {} : { prompt_version: Number(version) }), ...budget });
    },
    onSuccess: (made) => navigate({ to: "/jobs/$id", params: { id: made.id }, search: {} }),
  });
  const faults = faultsOf(run.error, ["input", "model", "budget.turns"]);
  return (
    <section className="panel stack" aria-label="Replay">
      <div className="head">
        <h2>Replay with changes</h2>
        <span className="spacer" />
        <Button variant="subtle" onClick={onClose}>
          Close
        </Button>
      </div>
      {run.error === null ? null : <Failed error={run.error} faults={faults} />}
      <div className="cols">
        <Textarea label="Input" autosize minRows={8} maxRows={24} value={text} error={fault ?? faults.at("input")} spellCheck={false} classNames={{ input: "mono" }} onChange={(event) => setText(event.currentTarget.value)} />
        <div className="stack">
          {text === original ? <p className="muted">Change the input to see the difference.</p> : <Diff before={original} after={text} />}
          <NumberInput label="Max attempts" error={faults.at("budget.turns")} placeholder="as before" min={1} max={100} value={turns} onChange={setTurns} w={160} />
          <label className="tight">
            Model, as provider/model
            <input className="plain-input mono" placeholder="as before" {...invalid("replay-model", faults.at("model"))} value={model} onChange={(event) => setModel(event.currentTarget.value)} />
          </label>
          <Fault id="replay-model" text={faults.at("model")} />
          <PromptVersion job={job} value={version} onChange={setVersion} />
        </div>
      </div>
      <span>
        <Button disabled={fault !== null} loading={run.isPending} onClick={() => run.mutate()}>
          Run
        </Button>
      </span>
    </section>
  );
}
