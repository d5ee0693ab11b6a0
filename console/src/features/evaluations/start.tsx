import { Button, Modal, Select, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import type { components } from "../../api/schema";
import type { EvaluationSummary } from "../../api/types";
import { EstimateText, useEvaluationStart } from "../../shared/editing/evaluation-start";
import { NumberInput } from "../../shared/editing/number-input";
import { WriteButton } from "../../shared/editing/write-button";
import { jsonFault } from "../../shared/json/json-fault";
import { Callout } from "../../shared/page/callout";
import { Failed } from "../../shared/page/loading-states";

type Suite = components["schemas"]["Suite"];

const OWN = "";
const EXAMPLE = `{
  "name": "cities",
  "cases": [
    {
      "name": "total by city",
      "kind": "transform",
      "input": {"task": "Total amount by city", "data": [{"csv": "city,amount\\nOslo,3\\nOslo,5\\nRome,4"}]},
      "expect": {"table": {"csv": "city,amount\\nOslo,8\\nRome,4"}}
    }
  ]
}`;

/** An evaluation of a suite that ran before, or of one that is written here, with the models to compare. */
export default function Start({ known, onClose }: { known: readonly EvaluationSummary[]; onClose: () => void }) {
  const newest = new Map([...known].reverse().map((each) => [each.name, each]));
  const [suite, setSuite] = useState<string>([...newest.keys()].at(-1) ?? OWN);
  const [text, setText] = useState(EXAMPLE);
  const [models, setModels] = useState("");
  const [repeat, setRepeat] = useState<number | "">(1);
  const fault = suite === OWN ? jsonFault(text) : null;
  const { check, run, error, faults } = useEvaluationStart({ models, repeat, last: suite === OWN ? undefined : newest.get(suite)?.id, suiteOf: (before) => (suite === OWN ? (JSON.parse(text) as Suite) : before) });
  return (
    <Modal opened onClose={onClose} size={560} title="New evaluation">
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        <Select label="Suite" error={faults.at("suite.name")} data={[...[...newest.keys()].map((name) => ({ value: name, label: name })), { value: OWN, label: "A new suite…" }]} value={suite} onChange={(name) => setSuite(name ?? OWN)} />
        {suite === OWN ? (
          <Textarea label="Cases (JSON)" description="Each case has a name, a job type, an input and what it expects" autosize minRows={8} maxRows={18} value={text} error={fault ?? faults.at("suite.cases")} spellCheck={false} classNames={{ input: "mono" }} onChange={(event) => setText(event.currentTarget.value)} />
        ) : null}
        <TextInput label="Models to compare" description="Separated by commas" error={faults.at("variants")} placeholder={suite === OWN ? "Default models" : "Models of the last evaluation"} value={models} onChange={(event) => setModels(event.currentTarget.value)} />
        <NumberInput label="Runs per case" error={faults.at("repeat")} min={1} max={100} value={repeat} onChange={setRepeat} w={120} />
        {error === null ? null : <Failed error={error} faults={faults} />}
        {check.data === undefined ? null : (
          <Callout>
            <EstimateText of={check.data} />
          </Callout>
        )}
        <div className="dialog-foot">
          <Button variant="default" loading={check.isPending} disabled={fault !== null} onClick={() => check.mutate()}>
            Estimate
          </Button>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <WriteButton type="submit" disabled={fault !== null} loading={run.isPending}>
            Start evaluation
          </WriteButton>
        </div>
      </form>
    </Modal>
  );
}
