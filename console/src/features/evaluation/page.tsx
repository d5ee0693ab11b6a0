import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { get, post } from "../../api/client";
import type { Evaluation } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { EVALUATION_STATES } from "../../shared/values/states";
import { Icon } from "../../shared/values/icon";
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
        <div className="title">
          <div className="crumb">
            <Link to="/evaluations">Evaluations</Link> <Icon of={ChevronRight} size={14} /> <span className="mono">{evaluation.id}</span>
          </div>
          <div className="bar">
            <h1 className="clip">{visible(evaluation.name)}</h1>
            <StateMark of={EVALUATION_STATES[evaluation.state]} />
          </div>
        </div>
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
      <span>
        Started <When at={evaluation.created_at} />
        {evaluation.finished_at ? `, took ${took(between(evaluation.created_at, evaluation.finished_at))}` : ""}
      </span>
      <span>
        <b>{counted(evaluation.cases.length, "case")}</b> × <b>{counted(evaluation.variants.length, "variant")}</b>, {counted(evaluation.repeat, "run")} of each
      </span>
      <span className="bar">
        {finished === runs ? null : <progress max={runs} value={finished} aria-label="Finished runs" />}
        <span>
          <b>{finished}</b> of {runs} runs finished{running ? `, ${running} running` : ""}
        </span>
      </span>
      {limits.map(([name, value]) => (
        <Tag key={name}>
          at most {String(value)} {name.replace("cost_usd", "$")}
        </Tag>
      ))}
    </div>
  );
}

function counted(number: number, name: string): string {
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}

function Unstable({ evaluation }: { evaluation: Evaluation }) {
  const unstable = evaluation.unstable ?? [];
  if (unstable.length === 0) return null;
  return (
    <details className="callout warn unmarked">
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
