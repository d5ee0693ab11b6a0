import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { count } from "../values/numbers";
import { Loaded } from "./loading-states";

type Limits = components["schemas"]["TenantLimits"];

export const QUOTA_NAMES: Readonly<Record<string, string>> = {
  tokens_per_day: "Tokens today (UTC)",
  storage_bytes: "Storage",
  queued_jobs: "Queued jobs",
  running_jobs: "Running jobs of a type",
  requests_per_minute: "Requests a minute",
  streams: "Event streams of a key",
};

export const GIGABYTE = 1e9;

/** What is left of the tenant's quotas, and with `all` also those without a count of what is used. */
export function Quotas({ title, all = false }: { title: string; all?: boolean }) {
  const query = useQuery({ queryKey: ["limits"], queryFn: () => get<Limits>("/v1/limits"), refetchInterval: 15_000 });
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <Loaded query={query} rows={4}>
        {({ quotas }) => (
          <dl className="facts">
            {Object.keys(QUOTA_NAMES)
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
  return (
    <>
      <dt>{QUOTA_NAMES[name]}</dt>
      <dd className="bar">
        {used === null ? (
          <span>{limit === null ? "without a limit" : `${amount(name, limit)} at most`}</span>
        ) : limit === null ? (
          <span>{amount(name, used)} used; without a limit</span>
        ) : (
          <>
            <meter min={0} max={Math.max(limit, 1)} high={limit * 0.9} value={used} aria-label={`${amount(name, used)} of ${amount(name, limit)} used`} />
            <span>
              <b>{amount(name, Math.max(0, limit - used))}</b> left of {amount(name, limit)}
            </span>
          </>
        )}
      </dd>
    </>
  );
}

/** A number of what the quota counts, with its unit. */
export function amount(name: string, value: number): string {
  return name === "storage_bytes" ? `${(value / GIGABYTE).toLocaleString("en", { maximumFractionDigits: 2 })} GB` : count(value);
}
