import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { count } from "../values/numbers";
import { Loaded } from "./loading-states";

type Limits = components["schemas"]["TenantLimits"];

const NAMES: Readonly<Record<string, string>> = {
  tokens_per_day: "tokens today (UTC)",
  storage_bytes: "storage",
  queued_jobs: "queued jobs",
  running_jobs: "running jobs of a kind",
  requests_per_minute: "requests a minute",
  streams: "event streams of a key",
};

/** What is left of the tenant's quotas, and with `all` also those without a count of what is used. */
export function Quotas({ title, all = false }: { title: string; all?: boolean }) {
  const query = useQuery({ queryKey: ["limits"], queryFn: () => get<Limits>("/v1/limits"), refetchInterval: 15_000 });
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <Loaded query={query} rows={4}>
        {({ quotas }) => (
          <dl className="facts">
            {Object.keys(NAMES)
              .filter((name) => quotas[name] !== undefined && (all || quotas[name].used !== null))
              .map((name) => (
                <Left key={name} name={name} limit={quotas[name]!.limit} used={quotas[name]!.used} />
              ))}
          </dl>
        )}
      </Loaded>
    </section>
  );
}

function Left({ name, limit, used }: { name: string; limit: number | null; used: number | null }) {
  const told = name === "storage_bytes" ? gigabytes : count;
  return (
    <>
      <dt>{NAMES[name]}</dt>
      <dd className="bar">
        {used === null ? (
          <span>{limit === null ? "without a limit" : `${told(limit)} at most`}</span>
        ) : limit === null ? (
          <span>{told(used)} used; without a limit</span>
        ) : (
          <>
            <meter min={0} max={Math.max(limit, 1)} high={limit * 0.9} value={used} aria-label={`${told(used)} of ${told(limit)} used`} />
            <span>
              <b>{told(Math.max(0, limit - used))}</b> left of {told(limit)}
            </span>
          </>
        )}
      </dd>
    </>
  );
}

function gigabytes(size: number): string {
  return `${(size / 1e9).toLocaleString("en", { maximumFractionDigits: 2 })} GB`;
}
