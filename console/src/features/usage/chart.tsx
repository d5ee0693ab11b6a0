import { Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis, ResponsiveContainer } from "recharts";
import type { components } from "../../api/schema";
import { count } from "../../shared/values/numbers";
import { pointsOf, type Measure } from "./measures";
import { useMoment } from "./table";

type Stats = components["schemas"]["Stats"];

/** One number over time; the table by day has the same. */
export default function Chart({ stats, of, measure }: { stats: Stats; of: string | undefined; measure: Measure }) {
  const moment = useMoment(stats);
  const data = pointsOf(stats, of, measure);
  const label = (at: string): string => (stats.bucket === "hour" ? (/\d\d:\d\d/.exec(moment(at))?.[0] ?? "") : at.slice(5, 10));
  const told = (value: number): string => (measure === "cost" ? `$${Number(value.toPrecision(4))}` : count(value));
  return (
    <figure className="panel chart" aria-label={`${measure} over time${of === undefined ? "" : ` of ${of}`}; the table by ${stats.bucket} has the numbers`}>
      <ResponsiveContainer width="100%" height={180}>
        <BarChart data={data} accessibilityLayer={false}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="at" tickFormatter={label} stroke="currentColor" fontSize={12} />
          <YAxis stroke="currentColor" fontSize={12} width={64} tickFormatter={told} allowDecimals={measure === "cost"} />
          <Tooltip formatter={(value) => told(Number(value))} labelFormatter={(at) => moment(String(at))} contentStyle={{ background: "var(--bg)", border: "1px solid var(--line)" }} />
          <Bar dataKey="value" name={measure} fill="var(--accent)" isAnimationActive={false} maxBarSize={48} />
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
