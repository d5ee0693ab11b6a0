import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import type { Models, Page as PageOf, Prompt } from "../../api/types";
import { wilson } from "../../shared/values/job-sums";
import { groupsOf } from "../../shared/values/prompt-groups";
import { ROLE_NAMES } from "../../shared/values/role-names";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

/** All prompts except the one that is open: those of roles, and the parts of the role that is open. */
export function OtherPrompts({ open }: { open: string }) {
  const prompts = useQuery({ queryKey: ["prompts"], queryFn: () => get<PageOf<Prompt>>("/v1/prompts", { limit: 200 }) });
  const models = useQuery({ queryKey: ["models"], queryFn: () => get<Models>("/v1/models") });
  const stats = useQuery({ queryKey: ["stats", "prompt", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "prompt", bucket: "all" }) });
  if (prompts.data === undefined || models.data === undefined) return <aside className="others" />;
  const sums = new Map(stats.data?.items.map((row) => [row.group, row]));
  return (
    <aside className="others">
      <div className="sec">
        <h2>Prompts</h2> <span className="spacer" /> <span className="small muted">Completed, 7 days</span>
      </div>
      <nav className="tight" aria-label="Prompts">
        {groupsOf(prompts.data.items, Object.keys(models.data.roles)).map(([group, all]) => {
          const [heads, parts] = [all.filter((prompt) => prompt.key === group), all.filter((prompt) => prompt.key !== group)];
          const other = (prompt: Prompt): ReactNode => <Other key={prompt.key} prompt={prompt} isPart={prompt.key !== group} isOpen={prompt.key === open} sums={sums.get(`${prompt.key}@${prompt.version}`)} />;
          return (
            <div key={group}>
              {heads.map(other)}
              {parts.length === 0 ? null : (
                <details open={parts.some((prompt) => prompt.key === open)}>
                  <summary className="small muted">
                    {heads.length === 0 ? `${group}: ` : ""}{parts.length} {parts.length === 1 ? "part" : "parts"}
                  </summary>
                  {parts.map(other)}
                </details>
              )}
            </div>
          );
        })}
      </nav>
    </aside>
  );
}

function Other({ prompt, isPart, isOpen, sums }: { prompt: Prompt; isPart: boolean; isOpen: boolean; sums: Row | undefined }) {
  const success = sums === undefined ? null : wilson(sums);
  const name = ROLE_NAMES[prompt.key];
  return (
    <Link to="/prompts/$key" params={{ key: prompt.key }} className={`other ${isPart ? "part" : ""}`} aria-current={isOpen ? "page" : undefined}>
      <span className="bar line">
        <span className="clip medium">{name ?? prompt.key.slice(prompt.key.indexOf(".") + 1)}</span>
        {success === null ? null : <span>{Math.round(success.share * 100)}%</span>}
      </span>
      {isPart && prompt.is_default ? null : (
        <span className="small muted">
          v{prompt.version}
          {prompt.is_default ? "" : ", customized"}
        </span>
      )}
    </Link>
  );
}
