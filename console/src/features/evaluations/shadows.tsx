import { Select, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { WriteButton } from "../../shared/editing/write-button";
import { NumberInput } from "../../shared/editing/number-input";

type Shadow = components["schemas"]["ShadowSummary"];
type View = components["schemas"]["ShadowView"];

const KINDS = ["transform", "document", "search"];

/** A share of the live jobs, done again with another model or prompt, compared with the answers that were given. */
export function Shadows() {
  const query = useQuery({ queryKey: ["shadows"], queryFn: () => get<PageOf<Shadow>>("/v1/shadows", { limit: 20 }), refetchInterval: 5000 });
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <details className="panel">
      <summary>Shadow runs: replay live jobs with another model or prompt</summary>
      <div className="stack">
        <Start />
        <Loaded query={query} rows={2}>
          {({ items }) =>
            items.length === 0 ? <span className="muted">None yet.</span> : items.map((shadow) => <Row key={shadow.id} shadow={shadow} open={chosen === shadow.id} onOpen={() => setChosen(chosen === shadow.id ? null : shadow.id)} />)
          }
        </Loaded>
      </div>
    </details>
  );
}

function Start() {
  const [kind, setKind] = useState("transform");
  const [model, setModel] = useState("");
  const [prompt, setPrompt] = useState("");
  const [share, setShare] = useState<number | string>(1);
  const [tokens, setTokens] = useState<number | string>(100_000);
  const client = useQueryClient();
  const body = { kind, model: model.trim() || undefined, prompt: prompt.trim() || undefined, share: Number(share) / 100, tokens_per_day: Number(tokens) };
  const start = useMutation({ mutationFn: () => post<Shadow>("/v1/shadows", body), onSuccess: () => client.invalidateQueries({ queryKey: ["shadows"] }) });
  const faults = faultsOf(start.error, ["kind", "model", "prompt", "share", "tokens_per_day"]);
  return (
    <form
      className="stack"
      aria-label="Start a shadow"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <div className="bar" style={{ alignItems: "end" }}>
        <Select label="Job type" error={faults.at("kind")} data={KINDS} value={kind} onChange={(value) => setKind(value ?? "transform")} allowDeselect={false} w={120} />
        <TextInput label="Model" error={faults.at("model")} placeholder="provider/model" value={model} onChange={(event) => setModel(event.currentTarget.value)} w={220} />
        <TextInput label="Or prompt version" error={faults.at("prompt")} placeholder="execution.transform@3" value={prompt} onChange={(event) => setPrompt(event.currentTarget.value)} w={200} />
        <NumberInput label="Share, %" error={faults.at("share")} min={0.1} max={100} value={share} onChange={setShare} w={90} />
        <NumberInput label="Tokens a day" error={faults.at("tokens_per_day")} min={1} step={10_000} value={tokens} onChange={setTokens} w={120} />
        <WriteButton type="submit" disabled={(body.model ?? body.prompt) === undefined} loading={start.isPending}>
          Start
        </WriteButton>
      </div>
      {start.error === null ? null : <Failed error={start.error} faults={faults} />}
    </form>
  );
}

function Row({ shadow, open, onOpen }: { shadow: Shadow; open: boolean; onOpen: () => void }) {
  const client = useQueryClient();
  const stop = useMutation({ mutationFn: () => post(`/v1/shadows/${shadow.id}/stop`), onSuccess: () => client.invalidateQueries({ queryKey: ["shadows"] }) });
  const view = useQuery({ queryKey: ["shadow", shadow.id], queryFn: () => get<View>(`/v1/shadows/${shadow.id}`), enabled: open });
  const passed = Object.entries(shadow.passed_over);
  return (
    <div className="tight">
      <div className="bar">
        <Tag tone={shadow.state === "running" ? "accent" : ""}>{shadow.state}</Tag>
        <button type="button" className="link" aria-expanded={open} onClick={onOpen}>
          {shadow.share * 100} % of {shadow.kind} with {visible([shadow.model, shadow.prompt].filter(Boolean).join(" and "))}
        </button>
        <span className="muted">
          {count(shadow.tokens_today)} of {count(shadow.tokens_per_day)} tokens today
          {passed.length === 0 ? "" : `, skipped ${passed.map(([cause, times]) => `${times} (${cause})`).join(", ")}`}
        </span>
        <When at={shadow.created_at} />
        <span className="spacer" />
        {shadow.state === "running" ? (
          <button type="button" className="link" onClick={() => stop.mutate()}>
            Stop
          </button>
        ) : null}
      </div>
      {stop.error === null ? null : <Failed error={stop.error} />}
      {open ? (
        <Loaded query={view} rows={2}>
          {({ evaluations }) =>
            evaluations.length === 0 ? (
              <span className="muted">No jobs replayed yet.</span>
            ) : (
              evaluations.map((each) => (
                <Link key={each.id} to="/evaluations/$id" params={{ id: each.id }} className="plain">
                  {visible(each.name)}: {each.progress.finished} of {each.progress.runs} runs
                </Link>
              ))
            )
          }
        </Loaded>
      ) : null}
    </div>
  );
}
