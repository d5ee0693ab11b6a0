import { toast } from "../../shared/page/toasts";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { ProviderState } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { took, When } from "../../shared/values/time";
import { Sparkline } from "../../shared/values/sparkline";
import { minutesOf } from "./last-hour";
import { DAY_MS, HOUR_MS, Strip } from "./latency-strip";
import { TableHead } from "../../shared/tables/table-head";

type Stats = components["schemas"]["Stats"];

/** Of a breaker; one that is called and only refuses has failed as well. */
const TONES: Readonly<Record<ProviderState["state"], "good" | "warn" | "bad" | "">> = { closed: "good", half_open: "warn", open: "bad", parked: "bad", refusing: "bad", unconfigured: "" };

/** How each provider fares: its breaker, its last error, and the hours of the last day as a strip. */
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
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="How the providers fare">
    <table className="grid-table wide">
      <TableHead
        columns={[
          "Provider",
          "Breaker",
          "Until",
          "Last error",
          { name: "Calls / h", num: true, title: "Of your tenant, in the last hour" },
          { name: "Errors / h", num: true },
          { name: "p50", num: true, title: "Half of the answers of the last hour took no longer" },
          "Last hour",
          "Last 24 hours",
          "Ask again",
        ]}
      />
      <tbody>
        {items.map((provider) => (
          <tr key={provider.name}>
            <td>{provider.name}</td>
            <td>
              <Tag tone={TONES[provider.state]}>{provider.state.replace("_", " ")}</Tag>
            </td>
            <td>{provider.until ? <When at={provider.until} /> : "–"}</td>
            <td>{visible(provider.last_error ?? "–")}</td>
            <td className="num">{count(hour.whole(provider.name)?.calls ?? 0)}</td>
            <td className="num">{hour.whole(provider.name)?.errors ? <span className="bad">{count(hour.whole(provider.name)?.errors)}</span> : 0}</td>
            <td className="num">{took(hour.whole(provider.name)?.run_p50)}</td>
            <td>
              <Sparkline points={minutesOf(hour.minutes, provider.name, Date.now())} most={hour.most} label={`Calls and errors of ${provider.name} by the minute of the last hour`} />
            </td>
            <td>
              <Strip hours={day.filter((row) => row.group === provider.name)} slowest={slowest} />
            </td>
            <td>
              {provider.state === "closed" || provider.state === "unconfigured" ? (
                "–"
              ) : (
                <button type="button" className="link" disabled={!admin} title={admin ? "Forget its failures and limits" : "needs scope admin"} onClick={() => release.mutate(provider.name)}>
                  now
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    </div>
  );
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
