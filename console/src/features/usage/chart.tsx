import { Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis, ResponsiveContainer } from "recharts";
import type { components } from "../../api/schema";
import { stamp, useTimes } from "../../shared/time";

type Stats = components["schemas"]["Stats"];

/** Cost over time; the table below has the same numbers. */
export default function Chart({ stats }: { stats: Stats }) {
  const [times] = useTimes();
  const zone = times === "local" && stats.bucket === "hour" ? "local" : "UTC"; // the server's days are universal ones
  const buckets = new Map<string, { at: string; cost: number; tokens: number }>();
  for (const row of stats.items) {
    const sum = buckets.get(row.at) ?? { at: row.at, cost: 0, tokens: 0 };
    sum.cost += row.cost_usd ?? 0;
    sum.tokens += (row.input_tokens ?? 0) + (row.output_tokens ?? 0);
    buckets.set(row.at, sum);
  }
  const data = [...buckets.values()].sort((one, other) => one.at.localeCompare(other.at));
  const moment = (at: string): string => stamp(new Date(at), zone);
  const label = (at: string): string => (stats.bucket === "hour" ? (/\d\d:\d\d/.exec(moment(at))?.[0] ?? "") : at.slice(5, 10));
  return (
    <figure className="panel chart" aria-label="Cost over time, in dollars; the table has the numbers">
      <ResponsiveContainer width="100%" height={180}>
        <BarChart data={data} accessibilityLayer={false}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="at" tickFormatter={label} stroke="currentColor" fontSize={12} />
          <YAxis stroke="currentColor" fontSize={12} width={64} tickFormatter={(value: number) => `$${value}`} />
          <Tooltip formatter={(value) => `$${Number(value).toFixed(5)}`} labelFormatter={(at) => moment(String(at))} contentStyle={{ background: "var(--panel)", border: "1px solid var(--line)" }} />
          <Bar dataKey="cost" fill="var(--accent)" isAnimationActive={false} maxBarSize={48} />
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
