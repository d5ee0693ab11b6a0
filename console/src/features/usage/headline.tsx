import type { ReactNode } from "react";
import type { components } from "../../api/schema";
import { successShare } from "../../shared/values/job-sums";
import { cost, count } from "../../shared/values/numbers";
import { took } from "../../shared/values/time";
import { changeWords, sumsOf, type Sums } from "./sums";

type Row = components["schemas"]["StatsRow"];

/** The figures of the period, each against the period before. */
export function Headline({ now, before, days }: { now: readonly Row[]; before: readonly Row[]; days: number }) {
  const [sums, earlier] = [sumsOf(now), sumsOf(before)];
  const against = (of: (sums: Sums) => number | null): string => changeWords(of(sums), of(earlier), days);
  const success = successShare(sums);
  return (
    <div className="stats">
      <Figure name="Cost" more={sums.unpriced > 0 ? `${count(sums.unpriced)} calls without a price` : against((each) => each.cost)}>
        {cost(sums.cost)}
      </Figure>
      <Figure name="Tokens" more={against((each) => each.tokens)}>
        {count(sums.tokens)}
      </Figure>
      <Figure name="Model calls" more={sums.errors > 0 ? `${count(sums.errors)} without an answer` : against((each) => each.calls)}>
        {count(sums.calls)}
      </Figure>
      <Figure name="Jobs" more={against((each) => each.jobs)}>
        {count(sums.jobs)}
      </Figure>
      <Figure name="Completed" more={`${count(sums.failed)} failed`}>
        {success === null ? "–" : `${(100 * success).toFixed(1)}%`}
      </Figure>
      <Figure name="Run time, p95" more="of the slowest job type">
        {took(sums.p95)}
      </Figure>
    </div>
  );
}

function Figure({ name, more, children }: { name: string; more: string; children: ReactNode }) {
  return (
    <div className="stat">
      <span className="name">{name}</span>
      <span className="value-of">{children}</span>
      <span className="more">{more}</span>
    </div>
  );
}
