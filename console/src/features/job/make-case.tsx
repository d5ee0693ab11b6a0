import { Autocomplete, Button, Textarea, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import type { Case, EvaluationSummary, Job, Page } from "../../api/types";
import { EstimateText, useEvaluationStart } from "../../shared/editing/evaluation-start";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { WriteButton } from "../../shared/editing/write-button";
import { jsonFault } from "../../shared/json/json-fault";
import { NumberInput } from "../../shared/editing/number-input";

type Suite = components["schemas"]["Suite"];

/** The job as a case: what it gave is what is expected, until one changes that. It is run alone, or with a suite that was run before. */
export default function MakeCase({ job, onClose }: { job: Job; onClose: () => void }) {
  const query = useQuery({ queryKey: ["case", job.id], queryFn: () => get<Case>(`/v1/jobs/${job.id}/case`), staleTime: Infinity, retry: false });
  return (
    <section className="panel stack" aria-label="Add to evaluation">
      <div className="head">
        <h2>Add to evaluation</h2>
        <span className="spacer" />
        <Button variant="subtle" onClick={onClose}>
          Close
        </Button>
      </div>
      <Loaded query={query}>{(made) => <Form made={made} job={job} />}</Loaded>
    </section>
  );
}

function Form({ made, job }: { made: Case; job: Job }) {
  const [text, setText] = useState(JSON.stringify(made, null, 2));
  const [suite, setSuite] = useState("");
  const [models, setModels] = useState("");
  const [repeat, setRepeat] = useState<number | string>(1);
  const known = useQuery({ queryKey: ["evaluations", "names"], queryFn: () => get<Page<EvaluationSummary>>("/v1/evaluations", { limit: 200 }).then((page) => page.items) });
  const fault = jsonFault(text);
  const newest = known.data?.find((each) => each.name === suite.trim());
  const suiteOf = (before: { cases: Case[] } | null): Suite => {
    const added = JSON.parse(text) as Case;
    const others = (before?.cases ?? []).filter((each) => each.name !== added.name);
    return { name: suite.trim() || added.name, cases: [...others, added] };
  };
  const { check, run, error, faults } = useEvaluationStart({ models, repeat, last: newest?.id, suiteOf });
  return (
    <div className="cols">
      <Textarea label="The case: change what is expected of other runs" autosize minRows={8} maxRows={24} value={text} error={fault ?? faults.at("suite.cases")} spellCheck={false} classNames={{ input: "mono" }} onChange={(event) => setText(event.currentTarget.value)} />
      <div className="stack">
        {made.expect === undefined || made.expect === null ? <p className="callout warn">Nothing is expected of it beyond success: write its “expect”.</p> : null}
        <Autocomplete label="Suite" error={faults.at("suite.name")} placeholder="of its own" description={newest === undefined ? "A new suite with this case alone" : "Its cases of the last evaluation, and this one"} data={[...new Set((known.data ?? []).map((each) => each.name))]} value={suite} onChange={setSuite} />
        <TextInput label="Models, as provider/model" error={faults.at("variants")} placeholder={newest === undefined ? "those of the installation" : "those of the last evaluation"} value={models} onChange={(event) => setModels(event.currentTarget.value)} />
        <NumberInput label="Runs of each" error={faults.at("repeat")} min={1} max={100} value={repeat} onChange={setRepeat} w={120} />
        {error === null ? null : <Failed error={error} faults={faults} />}
        {check.data === undefined ? null : (
          <p className="callout">
            <EstimateText of={check.data} />
          </p>
        )}
        <span className="bar">
          <WriteButton disabled={fault !== null} loading={run.isPending} onClick={() => run.mutate()}>
            Start evaluation
          </WriteButton>
          <WriteButton variant="default" disabled={fault !== null} loading={check.isPending} onClick={() => check.mutate()}>
            Estimate
          </WriteButton>
        </span>
        <span className="muted">
          Into a file of your repository: <code>assay eval add {job.id} --suite suite.yaml</code>
        </span>
      </div>
    </div>
  );
}
