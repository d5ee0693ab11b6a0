import { Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { useSession } from "../../app/shell";
import { download } from "../../shared/files/download";
import { useKeyNames } from "../../shared/values/key-names";
import { Quotas } from "../../shared/page/quotas";
import { Loaded, Loading } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { csvOf, dearest, newest } from "./columns";
import { Headline } from "./headline";
import { MEASURES } from "./measures";
import { Served } from "./served";
import { Sources } from "./sources";
import { Table } from "./table";

const Chart = lazy(() => import("./chart"));
type Stats = components["schemas"]["Stats"];

const GROUPS = ["kind", "state", "outcome", "model", "provider", "role", "prompt", "source", "key"];
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
  const measure = MEASURES.find((each) => each === url.measure) ?? "cost";
  const inTime = url.rows === "time";
  const whole = useStats({ by, bucket: "all", source: url.source }, days);
  const parts = useStats({ by, bucket, source: url.source }, days);
  const sources = useStats({ by: "source", bucket: "all" }, days);
  const sums = useStats({ by: "kind", bucket: "all", source: url.source }, days);
  const earlier = useStats({ by: "kind", bucket: "all", source: url.source }, days, 1);
  const names = useKeyNames(admin && by === "key");
  const shown = inTime ? parts : whole;
  return (
    <>
      <div className="head">
        <h1>Usage</h1>
        <Select aria-label="By" data={(admin ? [...GROUPS, "tenant"] : GROUPS).map((value) => ({ value, label: `by ${value}` }))} value={by} onChange={(value) => change({ by: value, of: null })} w={130} />
        <Select aria-label="Time" data={SPANS} value={String(days)} onChange={(value) => change({ days: value })} w={130} />
        <Loaded query={sources} rows={1}>
          {(stats) => <Sources stats={stats} chosen={url.source} onChoose={(source) => change({ source })} />}
        </Loaded>
        <span className="spacer" />
        <Button variant="default" disabled={parts.data === undefined} title={`A line per ${bucket} and ${by}`} onClick={() => download(csvOf(parts.data!.items), `usage-by-${by}.csv`)}>
          Download CSV
        </Button>
      </div>
      <div className="stack">
        <Loaded query={sums} rows={3}>
          {(stats) => <Headline now={stats.items} before={earlier.data?.items ?? []} days={days} />}
        </Loaded>
        <Loaded query={parts}>
          {(stats) =>
            stats.items.length === 0 ? null : (
              <div className="tight">
                <div className="bar">
                  <Select aria-label="What the chart shows" data={[...MEASURES]} value={measure} allowDeselect={false} onChange={(value) => change({ measure: value })} w={110} />
                  <Select aria-label="Of which" placeholder={`All ${by}s`} data={groupsOf(stats)} value={url.of ?? null} clearable searchable onChange={(value) => change({ of: value })} w={260} />
                </div>
                <Suspense fallback={<Loading />}>
                  <Chart stats={stats} of={url.of} measure={measure} />
                </Suspense>
              </div>
            )
          }
        </Loaded>
        <div className="bar">
          <button type="button" className="count" aria-pressed={inTime} onClick={() => change({ rows: inTime ? null : "time" })}>
            by {bucket}
          </button>
          <span className="muted">{inTime ? `a row per ${bucket} (UTC) and ${by}` : `a row per ${by}, over the whole time`}</span>
        </div>
        <Loaded query={shown}>{(stats) => <Table stats={stats} rows={inTime ? newest(stats.items) : dearest(stats.items)} names={names} />}</Loaded>
        <div className="cols">
          <Quotas title="Remaining quota" />
          <Served time={{ from: sinceOf(days, 1), source: url.source }} />
        </div>
      </div>
    </>
  );
}

/** Midnight or the full hour: the query stays the same until then, and so does its answer's place. */
function sinceOf(days: number, periods: number): string {
  const step = days === 1 ? 3_600_000 : 86_400_000;
  return new Date(Math.ceil((Date.now() - days * 86_400_000) / step) * step - (periods - 1) * days * 86_400_000).toISOString();
}

/** Sums of the last days, or of as many days further back. */
function useStats(query: { by: string; bucket: string; source?: string | undefined }, days: number, back = 0) {
  const since = sinceOf(days, back + 1);
  const until = back === 0 ? undefined : sinceOf(days, back);
  return useQuery({
    queryKey: ["stats", query, since, until],
    queryFn: () => get<Stats>("/v1/stats", { ...query, from: since, to: until }),
    refetchInterval: 15_000,
    placeholderData: (before) => before,
  });
}

function groupsOf(stats: Stats): string[] {
  return [...new Set(stats.items.map((row) => row.group))].filter((group) => group !== "").sort();
}
