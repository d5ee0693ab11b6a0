import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { ProviderState } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { Tag } from "../../shared/marks";
import { count } from "../../shared/numbers";
import { took, When } from "../../shared/time";
import { DAY_MS, HOUR_MS, Strip, type Hour } from "./strip";

type Stats = components["schemas"]["Stats"];

/** How each provider fares: its breaker, its last error, and the hours of the last day as a strip. */
export function Providers({ items }: { items: readonly ProviderState[] }) {
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const client = useQueryClient();
  const release = useMutation({
    mutationFn: (name: string) => post(`/v1/providers/${name}/release`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["providers"] }),
    onError: (error) => notifications.show({ color: "red", message: error.message }),
  });
  const stats = useQuery({ queryKey: ["stats", "provider"], queryFn: () => get<Stats>("/v1/stats", { by: "provider", bucket: "hour" }), refetchInterval: 30_000 });
  const day = (stats.data?.items ?? []).filter((row) => Date.parse(row.at) > Date.now() - DAY_MS);
  const slowest = day.reduce((most, row) => Math.max(most, row.run_p95 ?? 0), 0);
  const hour = (name: string): Hour | undefined => day.filter((row) => row.group === name && Date.parse(row.at) > Date.now() - 2 * HOUR_MS).at(-1);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="How the providers fare">
    <table className="grid-table wide">
      <thead>
        <tr>
          <th>Provider</th>
          <th>Breaker</th>
          <th>Until</th>
          <th>Last error</th>
          <th className="num">Calls, last hour</th>
          <th className="num">p50</th>
          <th>Last 24 hours</th>
          <th>Ask again</th>
        </tr>
      </thead>
      <tbody>
        {items.map((provider) => (
          <tr key={provider.name}>
            <td>{provider.name}</td>
            <td>
              <Tag tone={provider.state === "closed" ? "good" : provider.state === "unconfigured" ? "" : provider.state === "half_open" ? "warn" : "bad"}>{provider.state.replace("_", " ")}</Tag>
            </td>
            <td>{provider.until ? <When at={provider.until} /> : "–"}</td>
            <td>{visible(provider.last_error ?? "–")}</td>
            <td className="num">{count(hour(provider.name)?.calls ?? 0)}</td>
            <td className="num">{took(hour(provider.name)?.run_p50)}</td>
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
