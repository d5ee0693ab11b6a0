import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { Evaluation } from "../../api/types";
import { cost, count } from "../values/numbers";
import { faultsOf } from "./field-errors";

type Estimate = components["schemas"]["EvaluationEstimate"];
type Suite = components["schemas"]["Suite"];

interface Given {
  /** Separated by commas or blanks; empty takes those of the last evaluation. */
  models: string;
  repeat: number | string;
  /** Id of the suite's last evaluation. */
  last: string | undefined;
  suiteOf: (before: Suite | null) => Suite | null;
}

/** Estimate an evaluation, or start it and open its page. */
export function useEvaluationStart({ models, repeat, last, suiteOf }: Given) {
  const navigate = useNavigate();
  const body = async (dry_run: boolean): Promise<object> => {
    const before = last === undefined ? null : await get<Evaluation>(`/v1/evaluations/${last}`, { suite: true });
    const named = models.split(/[\s,]+/).filter((model) => model !== "");
    const variants = named.length > 0 ? named.map((model) => ({ model })) : (before?.variants ?? [{}]);
    return { suite: suiteOf(before?.suite ?? null), variants, repeat: Number(repeat) || 1, dry_run };
  };
  const check = useMutation({ mutationFn: async () => post<Estimate>("/v1/evaluations", await body(true)) });
  const run = useMutation({
    mutationFn: async () => post<Evaluation>("/v1/evaluations", await body(false)),
    onSuccess: (started) => navigate({ to: "/evaluations/$id", params: { id: started.id }, search: {} }),
  });
  const error = run.error ?? check.error;
  return { check, run, error, faults: faultsOf(error, ["suite.cases", "suite.name", "variants", "repeat"]) };
}

export function EstimateText({ of: estimate }: { of: Estimate }) {
  return (
    <>
      {count(estimate.runs)} runs, {count(estimate.asking)} with model calls: {estimate.tokens === null ? "tokens unknown" : `about ${count(estimate.tokens)} tokens`}, {estimate.cost_usd === null ? "cost unknown" : cost(estimate.cost_usd)}
    </>
  );
}
