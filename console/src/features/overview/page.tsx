import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { get } from "../../api/client";
import { useLiveJobs, useRefresh } from "../../api/live";
import { jobsPage } from "../../api/queries";
import type { components } from "../../api/schema";
import { installationHealth, useProviders } from "../../app/health";
import { useSession } from "../../app/shell";
import { Callout } from "../../shared/page/callout";
import { Loading } from "../../shared/page/loading-states";
import { useCapabilities } from "../../shared/page/readiness";
import { Segmented } from "../../shared/editing/segmented";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { Icon } from "../../shared/values/icon";
import { useKeyNames } from "../../shared/values/key-names";
import { useNow } from "../../shared/values/time";
import { ActiveNow, Users } from "./aside";
import { Failures } from "./failures";
import { FirstSteps } from "./first-steps";
import { barsOf, hoursOf, periodOf, PERIODS, reasonsOf, startOf, type Period } from "./period";
import { Providers } from "./providers";
import { Figures } from "./stats";
import { Traffic } from "./traffic";

type Stats = components["schemas"]["Stats"];

const READ = 200;
const FEW = 5;

/** What is broken, who causes it, and what it costs. */
export function Page() {
  useTitle("Overview");
  const [url, change] = useUrl();
  const name = periodOf(url.period);
  const period = PERIODS[name];
  const minute = useNow(60_000);
  const now = Math.floor(minute / 60_000) * 60_000;
  const session = useSession();
  const capabilities = useCapabilities();
  const admin = session?.scopes.includes("admin") ?? false;
  const { whole, outcomes, before, parts, users, newest, failed, queues } = useFigures(period, now, admin);
  const names = useKeyNames(!admin && (session?.scopes.includes("tenant_admin") ?? false));
  const refresh = useRefresh(["overview"], ["jobs", "active"], ["queues"]);
  useLiveJobs(session?.tenant, refresh);
  const jobs = newest.data?.items ?? [];
  const all = [...new Map([...(failed.data?.items ?? []), ...jobs].map((job) => [job.id, job])).values()];
  const bars = barsOf(period, parts.data?.items ?? [], now);
  const few = newest.data !== undefined && jobs.length < FEW && newest.data.next_cursor === null;
  return (
    <>
      <div className="head">
        <h1>Overview</h1>
        <span className="spacer" />
        <Segmented label="Period" value={name} choices={Object.entries(PERIODS).map(([value, each]) => ({ value, label: each.name }))} onChange={(value) => change({ period: value })} />
        <Button component={Link} to="/transform" leftSection={<Icon of={Plus} />}>
          New job
        </Button>
      </div>
      <div className="sections">
        <div className="stack">
          <Trouble />
          {few ? <FirstSteps capabilities={capabilities.data} none={jobs.length === 0} /> : null}
          {whole.data === undefined || parts.data === undefined ? <Loading rows={4} /> : <Figures period={period} now={whole.data.items} before={before.data?.items ?? []} bars={bars} queues={queues.data?.items ?? []} />}
        </div>
        <Traffic period={period} bars={bars} />
        <div className="cols main">
          <div className="sections">
            <Failures reasons={reasonsOf(outcomes.data?.items ?? [], all)} hours={hoursOf(period)} />
            <Providers />
          </div>
          <div className="sections">
            <ActiveNow latest={jobs.slice(0, 6)} />
            <Users of={admin ? "tenant" : "key"} rows={users.data?.items ?? []} names={names} />
          </div>
        </div>
      </div>
    </>
  );
}

function useFigures(period: Period, now: number, admin: boolean) {
  const start = startOf(period, now);
  const from = new Date(start).toISOString();
  const earlier = new Date(start - period.step * period.buckets).toISOString();
  const stats = (query: Record<string, string>) => () => get<Stats>("/v1/stats", query);
  const options = { refetchInterval: 30_000, placeholderData: <T,>(old: T | undefined) => old };
  const since = { created_after: from, limit: READ };
  return {
    whole: useQuery({ queryKey: ["overview", "whole", from], queryFn: stats({ by: "state", bucket: "all", from }), ...options }),
    outcomes: useQuery({ queryKey: ["overview", "outcomes", from], queryFn: stats({ by: "outcome", bucket: "all", from }), ...options }),
    before: useQuery({ queryKey: ["overview", "before", from], queryFn: stats({ by: "outcome", bucket: "all", from: earlier, to: from }), ...options }),
    parts: useQuery({ queryKey: ["overview", "parts", from, period.bucket], queryFn: stats({ by: "outcome", bucket: period.bucket, from }), ...options }),
    users: useQuery({ queryKey: ["overview", "users", admin, from], queryFn: stats({ by: admin ? "tenant" : "key", bucket: "all", from }), ...options }),
    newest: useQuery({ queryKey: ["overview", "newest", from], queryFn: () => jobsPage(since), ...options }),
    failed: useQuery({ queryKey: ["overview", "failed", from], queryFn: () => jobsPage({ ...since, state: ["failed", "dead"] }), ...options }),
    queues: useQuery({ queryKey: ["queues"], queryFn: () => get<components["schemas"]["Queues"]>("/v1/queues"), refetchInterval: 5_000 }),
  };
}

/** What is degraded, in one sentence each, with the way to it. */
function Trouble() {
  const capabilities = useCapabilities();
  const providers = useProviders() ?? [];
  if (capabilities.data === undefined) return null;
  const health = installationHealth(capabilities.data, providers);
  if (health.faults.length === 0) return null;
  const ofKinds = health.words.includes("job type");
  return (
    <Callout
      tone="warn"
      actions={
        <Button component={Link} to={ofKinds ? "/settings" : "/models"} variant="default" className="small">
          {ofKinds ? "View health" : "View providers"}
        </Button>
      }
    >
      <b>{health.words}.</b> {health.faults.join("; ")}.
    </Callout>
  );
}
