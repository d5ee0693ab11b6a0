import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { useProviders } from "../../app/health";
import { StateMark } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Sparkline } from "../../shared/values/sparkline";
import { took } from "../../shared/values/time";
import { SortedTable } from "../../shared/tables/sorted-table";

type Stats = components["schemas"]["Stats"];

const HOURS = 24;
const HOUR_MS = 3_600_000;

/** Each provider with a key: its state, its error rate of the last hour, and the errors of the last day. */
export function Providers() {
  const providers = useProviders();
  const day = useQuery({ queryKey: ["stats", "provider"], queryFn: () => get<Stats>("/v1/stats", { by: "provider", bucket: "hour" }), refetchInterval: 30_000 });
  const shown = (providers ?? []).filter(({ provider, calls }) => provider.configured || calls > 0);
  if (shown.length === 0) return null;
  return (
    <section aria-label="Providers">
      <div className="sec">
        <h2>Providers</h2>
        <span className="muted">last hour</span>
        <span className="spacer" />
        <Link to="/models">Models</Link>
      </div>
      <SortedTable
        id="providers"
        label="State of the providers"
        frame="open"
        columns={[
          { name: "Provider", by: (row) => row.provider.name },
          { name: "State", by: (row) => row.state.word },
          { name: "Calls", num: true, by: (row) => row.calls },
          { name: "Errors", num: true, by: (row) => row.errors },
          { name: "Error rate", num: true, by: (row) => row.calls === 0 ? null : row.errors / row.calls },
          { name: "p50", num: true, by: (row) => row.median },
          "Errors, 24 h",
        ]}
        items={shown}
        row={({ provider, state, calls, errors, median }) => (
          <tr key={provider.name}>
            <td className="medium">{provider.name}</td>
            <td>
              <StateMark of={state} title={provider.last_error ? `Last error: ${provider.last_error}` : undefined} />
            </td>
            <td className="num">{count(calls)}</td>
            <td className="num">{count(errors)}</td>
            <td className="num">{calls === 0 ? "–" : <span className={errors / calls > 0.05 ? "bad bold" : ""}>{((100 * errors) / calls).toFixed(1)}%</span>}</td>
            <td className="num">{took(median)}</td>
            <td>
              <Errors rows={(day.data?.items ?? []).filter((row) => row.group === provider.name)} name={provider.name} />
            </td>
          </tr>
        )}
      />
    </section>
  );
}

function Errors({ rows, name }: { rows: Stats["items"]; name: string }) {
  const now = Math.floor(Date.now() / HOUR_MS);
  const points = Array.from({ length: HOURS }, (_, place) => {
    const row = rows.find((each) => Math.floor(Date.parse(each.at) / HOUR_MS) === now - (HOURS - 1 - place));
    return { value: row?.errors ?? 0, bad: row?.errors ?? 0, told: `${HOURS - 1 - place} h ago: ${row?.errors ?? 0} errors of ${row?.calls ?? 0} calls` };
  });
  const total = points.reduce((sum, { value }) => sum + value, 0);
  return <Sparkline points={points} step={5} label={`${count(total)} errors of ${name} in the last 24 hours`} />;
}
