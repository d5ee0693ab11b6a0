import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { Page as PageOf, Prompt } from "../../api/types";
import { Tag } from "../../shared/marks";
import { cost, count } from "../../shared/numbers";
import { Loaded } from "../../shared/states";
import { When } from "../../shared/time";
import { useTitle } from "../../shared/title";

interface Stats {
  items: { group: string; jobs: number; succeeded: number; failed: number; cost_usd: number | null }[];
}

export function Page() {
  useTitle("Prompts");
  const query = useQuery({ queryKey: ["prompts"], queryFn: () => get<PageOf<Prompt>>("/v1/prompts", { limit: 200 }) });
  const stats = useQuery({ queryKey: ["stats", "prompt"], queryFn: () => get<Stats>("/v1/stats", { by: "prompt" }) });
  return (
    <>
      <div className="head">
        <h1>Prompts</h1>
        <span className="muted">the words that models are asked with; the numbers are of the last seven days</span>
      </div>
      <Loaded query={query}>
        {(page) => (
          <div className="scroll tall" tabIndex={0} role="region" aria-label="Prompts">
            <table className="grid-table wide">
              <thead>
                <tr>
                  <th>Prompt</th>
                  <th className="num">Version</th>
                  <th />
                  <th>Variables</th>
                  <th className="num">Jobs</th>
                  <th className="num">Succeeded</th>
                  <th className="num">Cost</th>
                  <th>Changed</th>
                </tr>
              </thead>
              <tbody>
                {page.items.map((prompt) => {
                  const rows = (stats.data?.items ?? []).filter((row) => row.group === `${prompt.key}@${prompt.version}`);
                  const jobs = sum(rows.map((row) => row.jobs));
                  return (
                    <tr key={prompt.key}>
                      <td>
                        <Link to="/prompts/$key" params={{ key: prompt.key }} className="plain">
                          {prompt.key}
                        </Link>
                      </td>
                      <td className="num">{prompt.version}</td>
                      <td>{prompt.is_default ? <Tag>as it came</Tag> : <Tag tone="accent">changed</Tag>}</td>
                      <td className="mono">{[...prompt.variables.required, ...prompt.variables.optional.map((name) => `${name}?`)].join(", ")}</td>
                      <td className="num">{count(jobs)}</td>
                      <td className="num">{jobs === 0 ? "–" : `${Math.round((sum(rows.map((row) => row.succeeded)) / jobs) * 100)} %`}</td>
                      <td className="num">{jobs === 0 ? "–" : cost(rows.some((row) => row.cost_usd !== null) ? sum(rows.map((row) => row.cost_usd ?? 0)) : null)}</td>
                      <td>
                        <When at={prompt.updated_at} />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
