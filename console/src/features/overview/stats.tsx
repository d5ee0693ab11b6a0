import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { components } from "../../api/schema";
import { cost, count } from "../../shared/values/numbers";
import { took } from "../../shared/values/time";
import { groupOf } from "../../shared/values/states";
import { hoursOf, type BarOfTime, type Period } from "./period";

type Row = components["schemas"]["StatsRow"];

interface Props {
  period: Period;
  /** A row per state of this period, and a row per outcome of the one before. */
  now: readonly Row[];
  before: readonly Row[];
  bars: readonly BarOfTime[];
  queues: readonly components["schemas"]["QueueState"][];
}

const sum = (rows: readonly Row[], of: (row: Row) => number | null | undefined): number => rows.reduce((total, row) => total + (of(row) ?? 0), 0);

const failures = (row: Row): number => (groupOf(row.group, (row.failed ?? 0) > 0) === "Failed" ? row.jobs : 0);

/** The figures of the period; each leads to what it counts. */
export function Figures({ period, now, before, bars, queues }: Props) {
  const jobs = sum(now, (row) => row.jobs);
  const total = (of: (bar: BarOfTime) => number): number => bars.reduce((all, bar) => all + of(bar), 0);
  const [done, open, failed] = [total((bar) => bar.done), total((bar) => bar.open), total((bar) => bar.failed)];
  const succeeded = now.find((row) => row.group === "succeeded");
  const queued = queues.reduce((all, queue) => all + (queue.queued ?? 0), 0);
  const running = queues.reduce((all, queue) => all + (queue.running ?? 0), 0);
  const oldest = Math.max(0, ...queues.map((queue) => queue.oldest_seconds ?? 0));
  const priced = now.some((row) => row.cost_usd != null);
  const unpriced = sum(now, (row) => row.unpriced);
  const [p95, unit] = took(succeeded?.run_p95).split(" ");
  return (
    <div className="stats">
      <Figure name="Jobs" to="/jobs" more={<Change now={jobs} before={sum(before, (row) => row.jobs)} period={period} share />}>
        {count(jobs)}
      </Figure>
      <Figure name="Succeeded" to="/jobs" more={`${count(done)} done${open > 0 ? `, ${count(open)} unverified` : ""}`}>
        {jobs === 0 ? "–" : `${((100 * done) / Math.max(1, done + open + failed)).toFixed(1)}%`}
      </Figure>
      <Figure name="Failed" to="/jobs" search={{ outcome: "Failed", hours: String(hoursOf(period)) }} more={<Change now={failed} before={sum(before, failures)} period={period} bad />}>
        {count(failed)}
      </Figure>
      <Figure name="Run time, p95" to="/usage" search={{ by: "kind" }} more={`median ${took(succeeded?.run_p50)}`}>
        {p95} <small>{unit}</small>
      </Figure>
      <Figure name="Queue" to="/queues" more={queued === 0 ? `empty, ${count(running)} running` : `oldest ${took(oldest)}, ${count(running)} running`}>
        {count(queued)}
      </Figure>
      <Figure name="Spend" to="/usage" more={unpriced > 0 ? `${count(unpriced)} ${unpriced === 1 ? "call" : "calls"} without a price` : priced ? "all calls priced" : "no priced calls yet"}>
        {priced ? cost(sum(now, (row) => row.cost_usd)) : "–"}
      </Figure>
    </div>
  );
}

function Figure({ name, to, search = {}, more, children }: { name: string; to: string; search?: object; more: ReactNode; children: ReactNode }) {
  return (
    <Link to={to as "/"} search={search as never} className="stat">
      <span className="name">{name}</span>
      <span className="value-of">{children}</span>
      <span className="more">{more}</span>
    </Link>
  );
}

/** The difference to the period before; red only where more is bad. */
function Change({ now, before, period, share = false, bad = false }: { now: number; before: number; period: Period; share?: boolean; bad?: boolean }) {
  const more = now - before;
  if (before === 0 && share) return <>none in the {period.words} before</>;
  const text = share ? `${more >= 0 ? "+" : "−"}${Math.abs((100 * more) / before).toFixed(1)}%` : `${more >= 0 ? "+" : "−"}${count(Math.abs(more))}`;
  if (more === 0) return <>same as the {period.words} before</>;
  const tone = bad ? (more > 0 ? "bad" : "good") : "";
  return (
    <>
      <span className={tone}>{text}</span> vs. previous {period.name}
    </>
  );
}
