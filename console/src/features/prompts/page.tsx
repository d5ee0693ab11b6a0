import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get } from "../../api/client";
import { Checkbox } from "../../shared/editing/checkbox";
import type { components } from "../../api/schema";
import type { Models, Page as PageOf, Prompt } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { interval, turns } from "../../shared/values/job-sums";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { groupsOf } from "./groups";
import { TableHead } from "../../shared/tables/table-head";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

export function Page() {
  useTitle("Prompts");
  const query = useQuery({ queryKey: ["prompts"], queryFn: () => get<PageOf<Prompt>>("/v1/prompts", { limit: 200 }) });
  const stats = useQuery({ queryKey: ["stats", "prompt", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "prompt", bucket: "all" }) });
  const models = useQuery({ queryKey: ["models"], queryFn: () => get<Models>("/v1/models") });
  const sums = new Map(stats.data?.items.map((row) => [row.group, row]));
  const roles = models.data?.roles ?? {};
  const [all, setAll] = useState(false);
  return (
    <>
      <div className="head">
        <h1>Prompts</h1>
        <span className="muted">Prompt templates. Metrics: current version, last 7 days.</span>
        <span className="spacer" />
        <Checkbox label="Show parts" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
      </div>
      <Loaded query={query}>
        {(page) => (
          <div className="scroll tall" tabIndex={0} role="region" aria-label="Prompts">
            <table className="grid-table wide">
              <TableHead
                columns={[
                  "Prompt",
                  { name: "Version", num: true },
                  "State",
                  { name: "Jobs", num: true, title: "Whose calls began with it; words that follow later in a conversation are counted with its first" },
                  { name: "Success (95%, n)", num: true },
                  { name: "Attempts to success", num: true, title: "Mean / median" },
                  { name: "Cost", num: true },
                  "Changed",
                  "Variables",
                ]}
              />
              {groupsOf(page.items, Object.keys(roles)).map(([group, prompts]) => (
                <tbody key={group}>
                  <tr>
                    <th colSpan={9} scope="rowgroup">
                      {group} <span className="muted">{roles[group]?.[0] === undefined ? "no role" : visible(`Primary model: ${roles[group][0].provider}/${roles[group][0].model}`)}</span>
                    </th>
                  </tr>
                  {prompts
                    .filter((prompt) => all || !isPart(prompt, group, sums))
                    .map((prompt) => (
                      <PromptRow key={prompt.key} prompt={prompt} sums={sums.get(`${prompt.key}@${prompt.version}`)} />
                    ))}
                </tbody>
              ))}
            </table>
          </div>
        )}
      </Loaded>
    </>
  );
}

/** A text that another prompt puts together, as it came and without calls of its own: few people edit those. */
function isPart(prompt: Prompt, group: string, sums: ReadonlyMap<string, Row>): boolean {
  return prompt.key !== group && prompt.key.startsWith(`${group}_`) && prompt.is_default && !sums.has(`${prompt.key}@${prompt.version}`);
}

function PromptRow({ prompt, sums }: { prompt: Prompt; sums: Row | undefined }) {
  return (
    <tr>
      <td>
        <Link to="/prompts/$key" params={{ key: prompt.key }} className="plain">
          {prompt.key}
        </Link>
      </td>
      <td className="num">{prompt.version}</td>
      <td>{prompt.is_default ? <Tag>Default</Tag> : <Tag tone="accent">Customized</Tag>}</td>
      <td className="num">
        {sums === undefined ? (
          "–"
        ) : (
          <Link to="/jobs" search={{ prompt: sums.group } as never} className="plain" style={{ display: "inline-block", minWidth: 24 }} aria-label={`${count(sums.jobs)} jobs of ${prompt.key}`}>
            {count(sums.jobs)}
          </Link>
        )}
      </td>
      <td className="num">{sums === undefined ? "–" : interval(sums)}</td>
      <td className="num">{sums === undefined ? "–" : turns(sums)}</td>
      <td className="num">{cost(sums?.cost_usd)}</td>
      <td>
        <When at={prompt.updated_at} />
      </td>
      <td className="mono">{[...prompt.variables.required, ...prompt.variables.optional.map((name) => `${name}?`)].join(", ")}</td>
    </tr>
  );
}
