import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { get, post } from "../../api/client";
import type { Evaluation } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { EVALUATION_STATES } from "../../shared/values/states";
import { StateMark, Tag } from "../../shared/values/marks";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { between, took, When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { WriteButton } from "../../shared/editing/write-button";
import { SelectedCells } from "./selected-cells";
import { Matrix } from "./matrix";
import { Comparisons, Totals } from "./totals";

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery({
    queryKey: ["evaluation", id],
    queryFn: () => get<Evaluation>(`/v1/evaluations/${encodeURIComponent(id)}`),
    refetchInterval: (state) => (state.state.data?.progress.running || state.state.data?.state === "running" ? 2000 : false),
  });
  return <Loaded query={query}>{(evaluation) => <Whole evaluation={evaluation} refresh={() => void query.refetch()} />}</Loaded>;
}

function Whole({ evaluation, refresh }: { evaluation: Evaluation; refresh: () => void }) {
  useTitle(`${evaluation.name} ${EVALUATION_STATES[evaluation.state].word.toLowerCase()}`);
  return (
    <div className="stack">
      <div className="head">
        <StateMark of={EVALUATION_STATES[evaluation.state]} />
        <h1 className="clip">{visible(evaluation.name)}</h1>
        <span className="spacer" />
        <Actions evaluation={evaluation} refresh={refresh} />
      </div>
      <Facts evaluation={evaluation} />
      <Totals totals={evaluation.totals} />
      <Unstable evaluation={evaluation} />
      <Matrix evaluation={evaluation} />
      <SelectedCells evaluation={evaluation} />
      <Comparisons comparisons={evaluation.comparisons} />
    </div>
  );
}

function Actions({ evaluation, refresh }: { evaluation: Evaluation; refresh: () => void }) {
  const act = useMutation({ mutationFn: (verb: "cancel" | "resume") => post(`/v1/evaluations/${evaluation.id}/${verb}`), onSettled: refresh });
  const verb = evaluation.state === "running" ? "cancel" : evaluation.state === "finished" ? null : "resume";
  return (
    <div className="bar">
      {act.error ? <Failed error={act.error} /> : null}
      {verb === null ? null : (
        <WriteButton color={verb === "cancel" ? "red" : undefined} variant={verb === "cancel" ? "light" : "default"} loading={act.isPending} onClick={() => act.mutate(verb)}>
          {verb === "cancel" ? "Cancel" : "Resume"}
        </WriteButton>
      )}
      <Button component={Link} to="/evaluations" search={{ suite: evaluation.name } as never} variant="default">
        History
      </Button>
      <Button component={Link} to="/jobs" search={{ label: `evaluation=${evaluation.id}` } as never} variant="default">
        View jobs
      </Button>
    </div>
  );
}

function Facts({ evaluation }: { evaluation: Evaluation }) {
  const { runs, finished, running } = evaluation.progress;
  const limits = Object.entries(evaluation.budget ?? {}).filter(([, value]) => value !== null);
  return (
    <div className="chips">
      <span className="mono">{evaluation.id}</span>
      <span>
        begun <When at={evaluation.created_at} />
        {evaluation.finished_at ? `, took ${took(between(evaluation.created_at, evaluation.finished_at))}` : ""}
      </span>
      <span>
        <b>{evaluation.cases.length}</b> cases, <b>{evaluation.variants.length}</b> variants, <b>{evaluation.repeat}</b> {evaluation.repeat === 1 ? "run of each" : "runs of each"}
      </span>
      <span className="bar">
        <progress max={runs} value={finished} aria-label="Finished runs" /> <b>{finished}</b> of {runs} finished{running ? `, ${running} running` : ""}
      </span>
      {limits.map(([name, value]) => (
        <Tag key={name}>
          at most {String(value)} {name.replace("cost_usd", "$")}
        </Tag>
      ))}
    </div>
  );
}

function Unstable({ evaluation }: { evaluation: Evaluation }) {
  const unstable = evaluation.unstable ?? [];
  if (unstable.length === 0) return null;
  return (
    <details className="callout warn">
      <summary>
        {unstable.length} {unstable.length === 1 ? "cell is" : "cells are"} unstable: passed in some runs, failed in others
      </summary>
      <ul className="plain-list mono">
        {unstable.map((name) => (
          <li key={name}>{visible(name)}</li>
        ))}
      </ul>
    </details>
  );
}
