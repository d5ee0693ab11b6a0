import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { cost, count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { took } from "../../shared/values/time";

type Stats = components["schemas"]["Stats"];
type Queues = components["schemas"]["Queues"];

/** What was done and spent since midnight (UTC), and what waits now. */
export function Today() {
  const midnight = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`;
  const stats = useQuery({ queryKey: ["stats", "today", midnight], queryFn: () => get<Stats>("/v1/stats", { by: "kind", bucket: "day", from: midnight }), refetchInterval: 30_000 });
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => get<Queues>("/v1/queues"), refetchInterval: 5000 });
  return (
    <section className="panel" aria-label="Today">
      <h2>Today</h2>
        <Loaded query={stats} rows={3}>
          {({ items }) => {
            const sum = (of: (row: Stats["items"][number]) => number | null | undefined): number => items.reduce((total, row) => total + (of(row) ?? 0), 0);
            const spent = items.some((row) => row.cost_usd != null) ? sum((row) => row.cost_usd) : null;
            return (
              <dl className="facts even">
                <dt>jobs</dt>
                <dd>
                  <b>{count(sum((row) => row.jobs))}</b>, {count(sum((row) => row.failed))} failed
                </dd>
                <dt>spent</dt>
                <dd>
                  <Link to="/usage" className="plain">
                    {spent === null ? "cost unknown" : cost(spent)}
                  </Link>
                  , {count(sum((row) => row.input_tokens + row.output_tokens))} tokens
                </dd>
              </dl>
            );
          }}
        </Loaded>
        <Loaded query={queues} rows={2}>
          {({ items }) => {
            const waiting = items.filter((queue) => (queue.queued ?? 0) > 0);
            const oldest = Math.max(0, ...waiting.map((queue) => queue.oldest_seconds ?? 0));
            return (
              <dl className="facts even">
                <dt>waiting</dt>
                <dd>
                  <Link to="/queues" className="plain">
                    {waiting.length === 0 ? "nothing" : waiting.map((queue) => `${count(queue.queued)} ${queue.kind}`).join(", ")}
                  </Link>
                  {waiting.length === 0 ? "" : `, the oldest for ${took(oldest)}`}
                </dd>
                <dt>running</dt>
                <dd>{count(items.reduce((total, queue) => total + (queue.running ?? 0), 0))}</dd>
              </dl>
            );
          }}
        </Loaded>
    </section>
  );
}
