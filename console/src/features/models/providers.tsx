import { Button } from "@mantine/core";
import { toast } from "../../shared/page/toasts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { ProviderState } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { StateMark } from "../../shared/values/marks";
import { providerState } from "../../shared/values/states";
import { count } from "../../shared/values/numbers";
import { took, When } from "../../shared/values/time";
import { Sparkline } from "../../shared/values/sparkline";
import { minutesOf } from "./last-hour";
import { DAY_MS, HOUR_MS, Strip } from "./latency-strip";
import { SortedTable } from "../../shared/tables/sorted-table";

type Stats = components["schemas"]["Stats"];

/** State of each provider: its breaker, its last error, and the hours of the last day as a strip. */
export function Providers({ items }: { items: readonly ProviderState[] }) {
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const client = useQueryClient();
  const release = useMutation({
    mutationFn: (name: string) => post(`/v1/providers/${name}/release`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["providers"] }),
    onError: (error) => toast({ color: "red", message: error.message }),
  });
  const stats = useQuery({ queryKey: ["stats", "provider"], queryFn: () => get<Stats>("/v1/stats", { by: "provider", bucket: "hour" }), refetchInterval: 30_000 });
  const day = (stats.data?.items ?? []).filter((row) => Date.parse(row.at) > Date.now() - DAY_MS);
  const slowest = day.reduce((most, row) => Math.max(most, row.run_p95 ?? 0), 0);
  const hour = useLastHour();
  const figures = (name: string): Figures => ({ calls: hour.whole(name)?.calls ?? 0, errors: hour.whole(name)?.errors ?? 0 });
  return (
    <SortedTable
      id="providers"
      label="State of the providers"
      columns={[
        { name: "Provider", by: (row) => row.name },
        { name: "State", by: (row) => providerState(row.state, figures(row.name)).word },
        "Detail",
        { name: "Calls", num: true, by: (row) => figures(row.name).calls, title: "Of your tenant, in the last hour" },
        { name: "Errors", num: true, by: (row) => figures(row.name).errors },
        { name: "Error rate", num: true, by: (row) => rateOf(figures(row.name)) },
        { name: "p50", num: true, by: (row) => hour.whole(row.name)?.run_p50, title: "Half of the answers of the last hour took no longer" },
        "Last hour",
        "Latency, 24 h",
        "",
      ]}
      items={items}
      row={(provider) => (
      <tr key={provider.name}>
        <td className="medium">{provider.name}</td>
        <td>
          <StateMark of={providerState(provider.state, figures(provider.name))} />
        </td>
        <td className="muted">{detailOf(provider, figures(provider.name))}</td>
        <td className="num">{count(figures(provider.name).calls)}</td>
        <td className="num">{count(figures(provider.name).errors)}</td>
        <td className="num">
          <Rate of={figures(provider.name)} />
        </td>
        <td className="num">{took(hour.whole(provider.name)?.run_p50)}</td>
        <td>
          <Sparkline points={minutesOf(hour.minutes, provider.name, Date.now())} most={hour.most} label={`Calls and errors of ${provider.name} by the minute of the last hour`} />
        </td>
        <td>
          <Strip hours={day.filter((row) => row.group === provider.name)} slowest={slowest} />
        </td>
        <td className="actions">
          {provider.state === "closed" || provider.state === "unconfigured" ? null : (
            <Button variant="default" className="small" disabled={!admin} title={admin ? "Forget its failures and limits" : "Needs the admin scope"} onClick={() => release.mutate(provider.name)}>
              Retry now
            </Button>
          )}
        </td>
      </tr>
    )}
    />
  );
}

interface Figures {
  calls: number;
  errors: number;
}

function rateOf({ calls, errors }: Figures): number | null {
  return calls === 0 ? null : errors / calls;
}

function Rate({ of }: { of: Figures }) {
  const rate = rateOf(of);
  if (rate === null) return <>–</>;
  return <span className={rate > 0.05 ? "bad bold" : ""}>{(100 * rate).toFixed(1)}%</span>;
}

/** Why it is in its state, in a few words. */
function detailOf({ state, until, last_error, configured }: ProviderState, { calls, errors }: Figures) {
  if (!configured) return "Set its API key on the server, then restart it";
  const last = last_error ? <code>{visible(last_error)}</code> : null;
  if (until) {
    return (
      <>
        {state === "parked" ? "Rate-limited" : "Not called"} until <When at={until} /> {last}
      </>
    );
  }
  if (errors > 0) {
    return (
      <>
        {errors} of {calls} calls failed {last}
      </>
    );
  }
  return last === null ? "–" : <>Last error {last}</>;
}

/** The last hour of all providers, whole and by the minute. */
function useLastHour() {
  const ask = (bucket: string) => () => get<Stats>("/v1/stats", { by: "provider", bucket, from: new Date(Date.now() - HOUR_MS).toISOString() });
  const whole = useQuery({ queryKey: ["stats", "provider", "hour"], queryFn: ask("all"), refetchInterval: 15_000 });
  const minutes = useQuery({ queryKey: ["stats", "provider", "minutes"], queryFn: ask("minute"), refetchInterval: 15_000 });
  const rows = minutes.data?.items ?? [];
  return {
    whole: (name: string) => whole.data?.items.find((row) => row.group === name),
    minutes: rows,
    most: Math.max(0, ...rows.map((row) => row.calls)),
  };
}
