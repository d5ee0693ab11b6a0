import { Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { safeCell } from "../../shared/csv";
import { download } from "../../shared/json";
import { cost, count } from "../../shared/numbers";
import { Empty, Loaded, Loading } from "../../shared/states";
import { took } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { interval, totals, type Total } from "./totals";

const Chart = lazy(() => import("./chart"));
type Stats = components["schemas"]["Stats"];

const GROUPS = ["kind", "state", "model", "provider", "role", "prompt", "source", "key"];
const SPANS = [
  { value: "1", label: "last day" },
  { value: "7", label: "last 7 days" },
  { value: "30", label: "last 30 days" },
];

export function Page() {
  useTitle("Usage");
  const [url, change] = useUrl();
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const by = url.by ?? "model";
  const days = Number(url.days ?? 7);
  const bucket = days === 1 ? "hour" : "day";
  const query = useQuery({
    queryKey: ["stats", by, days],
    queryFn: () => get<Stats>("/v1/stats", { by, bucket, from: new Date(Date.now() - days * 86_400_000).toISOString() }),
    refetchInterval: 15_000,
    placeholderData: (before) => before,
  });
  return (
    <>
      <div className="head">
        <h1>Usage</h1>
        <Select aria-label="By" data={(admin ? [...GROUPS, "tenant"] : GROUPS).map((value) => ({ value, label: `by ${value}` }))} value={by} onChange={(value) => change({ by: value })} w={130} />
        <Select aria-label="Time" data={SPANS} value={String(days)} onChange={(value) => change({ days: value })} w={130} />
        <span className="spacer" />
        <Button variant="default" disabled={query.data === undefined} onClick={() => download(csvOf(query.data!), `usage-by-${by}.csv`)}>
          CSV
        </Button>
      </div>
      <Loaded query={query}>
        {(stats) => (
          <div className="stack">
            {stats.items.length === 0 ? null : (
              <Suspense fallback={<Loading />}>
                <Chart stats={stats} />
              </Suspense>
            )}
            <Totals rows={totals(stats.items)} by={by} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function Totals({ rows, by }: { rows: readonly Total[]; by: string }) {
  if (rows.length === 0) return <Empty title="Nothing has run in that time">Jobs, tokens, cost and success stand here, by what is chosen above.</Empty>;
  return (
    <div className="scroll tall" tabIndex={0} role="region" aria-label="Sums">
      <table className="grid-table wide">
        <thead>
          <tr>
            <th className="first-big">{by}</th>
            <th className="num">Jobs</th>
            <th className="num">Success (95 %, n)</th>
            <th className="num">Calls</th>
            <th className="num">Failovers</th>
            <th className="num">Tokens in</th>
            <th className="num">Tokens out</th>
            <th className="num">Cost</th>
            <th className="num" title="Calls to models whose price is not known: they are not in the cost">
              Unpriced
            </th>
            <th className="num" title="Half took no longer">
              p50
            </th>
            <th className="num" title="Of twenty, nineteen took no longer">
              p95
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.group}>
              <td>{visible(row.group || "none")}</td>
              <td className="num">{count(row.jobs)}</td>
              <td className="num">{interval(row)}</td>
              <td className="num">{count(row.calls)}</td>
              <td className="num">{row.failovers === null ? "–" : count(row.failovers)}</td>
              <td className="num">{count(row.input)}</td>
              <td className="num">{count(row.output)}</td>
              <td className="num">{cost(row.cost)}</td>
              <td className="num">{count(row.unpriced)}</td>
              <td className="num">{took(row.p50)}</td>
              <td className="num">{took(row.p95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function csvOf(stats: Stats): string {
  const names = ["at", "group", "jobs", "succeeded", "failed", "calls", "input_tokens", "output_tokens", "cost_usd", "unpriced"] as const;
  const lines = stats.items.map((row) => names.map((name) => safeCell(String(row[name] ?? ""))).join(","));
  return [names.join(","), ...lines].join("\n");
}
