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
import { successShare, turns, wilson } from "../../shared/values/job-sums";
import { ROLE_NAMES } from "../../shared/values/role-names";
import { ShareBar } from "../../shared/values/success";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { groupsOf } from "../../shared/values/prompt-groups";
import { SortedTable } from "../../shared/tables/sorted-table";

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
        <div className="title">
          <h1>Prompts</h1>
          <p>Texts that are sent to models. Figures are of the current version in the last 7 days. Completed jobs gave a result; evaluations say whether it is right.</p>
        </div>
        <Checkbox label="Show parts" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} />
      </div>
      <Loaded query={query}>
        {(page) => <PromptTable groups={groupsOf(page.items, Object.keys(roles))} roles={roles} sums={sums} all={all} />}
      </Loaded>
    </>
  );
}

/** A text that another prompt puts together, as it came and without calls of its own: few people edit those. */
function isPart(prompt: Prompt, roles: Models["roles"], sums: ReadonlyMap<string, Row>): boolean {
  return roles[prompt.key] === undefined && prompt.is_default && !sums.has(`${prompt.key}@${prompt.version}`);
}

interface TableProps {
  groups: ReturnType<typeof groupsOf<Prompt>>;
  roles: Models["roles"];
  sums: ReadonlyMap<string, Row>;
  all: boolean;
}

interface Line {
  prompt: Prompt;
  group: string;
  sums: Row | undefined;
}

/** One row a prompt, by role unless one sorts; a column that would be dashes alone is left out. */
function PromptTable({ groups, roles, sums, all }: TableProps) {
  const lines = groups.flatMap(([group, prompts]) => prompts.filter((prompt) => all || !isPart(prompt, roles, sums)).map((prompt): Line => ({ prompt, group, sums: sums.get(`${prompt.key}@${prompt.version}`) })));
  const ran = lines.some((line) => line.sums !== undefined);
  const costs = lines.some((line) => line.sums?.cost_usd != null);
  return (
    <SortedTable
      id="prompts"
      label="Prompts"
      frame="tall"
      columns={[
        { name: "Prompt", by: (line) => line.prompt.key },
        { name: "Primary model", by: (line) => modelOf(roles, line.group) },
        { name: "Version", num: true, by: (line) => line.prompt.version },
        { name: "State", by: (line) => (line.prompt.is_default ? 1 : 0) },
        ...(ran
          ? [
              { name: "Jobs", num: true, by: (line: Line) => line.sums?.jobs, title: "Whose calls began with it; words that follow later in a conversation are counted with its first" },
              { name: "Completed (95%)", by: (line: Line) => (line.sums === undefined ? null : successShare(line.sums)) },
              { name: "Attempts to a result", num: true, by: (line: Line) => line.sums?.turns_mean, title: "Mean / median" },
            ]
          : []),
        ...(costs ? [{ name: "Cost", num: true, by: (line: Line) => line.sums?.cost_usd }] : []),
        { name: "Changed", num: true, by: (line) => line.prompt.updated_at },
      ]}
      items={lines}
      row={(line) => (
        <tr key={line.prompt.key}>
          <td>
            <Link to="/prompts/$key" params={{ key: line.prompt.key }} className="plain">
              {line.prompt.key}
            </Link>
            {ROLE_NAMES[line.prompt.key] === undefined ? null : <span className="sub">{ROLE_NAMES[line.prompt.key]}</span>}
          </td>
          <td className="mono muted">{visible(modelOf(roles, line.group) ?? "–")}</td>
          <td className="num">{line.prompt.version}</td>
          <td>{line.prompt.is_default ? <Tag>Default</Tag> : <Tag tone="accent">Customized</Tag>}</td>
          {ran ? <Sums of={line} /> : null}
          {costs ? <td className="num">{cost(line.sums?.cost_usd)}</td> : null}
          <td className="num muted">
            <When at={line.prompt.updated_at} />
          </td>
        </tr>
      )}
    />
  );
}

function modelOf(roles: Models["roles"], group: string): string | null {
  const first = roles[group]?.[0];
  return first === undefined ? null : `${first.provider}/${first.model}`;
}

function Sums({ of: { prompt, sums } }: { of: Line }) {
  const success = sums === undefined ? null : wilson(sums);
  return (
    <>
      <td className="num">
        {sums === undefined ? (
          "–"
        ) : (
          <Link to="/jobs" search={{ prompt: sums.group } as never} className="plain" style={{ display: "inline-block", minWidth: 24 }} aria-label={`${count(sums.jobs)} jobs of ${prompt.key}`}>
            {count(sums.jobs)}
          </Link>
        )}
      </td>
      <td>{success === null ? <span className="muted">No jobs yet</span> : <ShareBar {...success} />}</td>
      <td className="num">{sums === undefined ? "–" : turns(sums)}</td>
    </>
  );
}
