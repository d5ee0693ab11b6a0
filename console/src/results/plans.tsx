import type { ReactNode } from "react";
import type { JobEvent, SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Code, Diff } from "../shared/code/code";
import { Tag } from "../shared/values/marks";

export interface Planned {
  table: string;
  search_mode: string;
  query_text: string;
  limit: number;
  score_threshold: number | null;
  filters: Record<string, unknown>;
}

export interface PlanAttempt {
  number: number;
  strategy: string;
  reasoning: string;
  queries: Planned[];
  /** By table. */
  hits: Record<string, number>;
  errors: Record<string, string>;
}

/** What a search tried: of the result, or of the events while it runs and of one that failed. */
export function plansOf(result: SearchResult | null, events: readonly JobEvent[]): PlanAttempt[] {
  if (result !== null) {
    return result.attempts.map(({ number, strategy, reasoning, queries }) => {
      const hits: Record<string, number> = {};
      for (const { table, hits: found } of queries) hits[table] = (hits[table] ?? 0) + found;
      const errors = Object.fromEntries(queries.flatMap(({ table, error }) => (error ? [[table, error]] : [])));
      return { number, strategy, reasoning, queries: queries as Planned[], hits, errors };
    });
  }
  return events
    .filter((event) => event.type === "turn_taken")
    .map((event) => {
      const proposal = event.proposal as { strategy?: string; queries?: Planned[] } | null;
      return { number: Number(event.number), strategy: proposal?.strategy ?? "", reasoning: "", queries: proposal?.queries ?? [], hits: (event.outcome ?? {}) as Record<string, number>, errors: {} };
    });
}

/** A plan as text: a line for each thing that an attempt may change. */
export function planText(queries: readonly Planned[]): string {
  return queries
    .map(({ table, search_mode, query_text, limit, score_threshold, filters }) =>
      [
        `${table}: ${query_text}`,
        `  mode ${search_mode}`,
        `  threshold ${score_threshold ?? "default"}`,
        `  limit ${limit}`,
        ...Object.entries(filters)
          .sort(([one], [other]) => one.localeCompare(other))
          .map(([field, value]) => `  filter ${field} = ${JSON.stringify(value)}`),
      ].join("\n"),
    )
    .join("\n");
}

/** Why there was another attempt: what failed, and which tables gave nothing; of the first also what blocked it. */
export function reasonsOf(attempt: PlanAttempt, whyEmpty: SearchResult["why_empty"]): string[] {
  const tables = [...new Set(attempt.queries.map(({ table }) => table))];
  return tables.flatMap((table) => {
    const error = attempt.errors[table];
    if (error !== undefined) return [`${table}: ${error}`];
    if ((attempt.hits[table] ?? 0) > 0) return [];
    const without = attempt.number === 1 ? whyEmpty.filter((reason) => reason.table === table && reason.hits_without > 0) : [];
    return [`${table}: no hits`, ...without.map(({ constraint, hits_without }) => `${table}: ${hits_without} without ${constraint}`)];
  });
}

/** The repair strip of a search: each plan as what it changed of the one before, under the reason for the change. */
export function PlanStrip({ attempts, whyEmpty, chosen, below }: { attempts: readonly PlanAttempt[]; whyEmpty: SearchResult["why_empty"]; chosen: number | null; below?: (attempt: PlanAttempt) => ReactNode }) {
  return (
    <div className="stack">
      {attempts.map((attempt, index) => {
        const before = attempts[index - 1];
        const reasons = before === undefined ? [] : reasonsOf(before, whyEmpty);
        const found = Object.values(attempt.hits).reduce((sum, hits) => sum + hits, 0);
        return (
          <section key={attempt.number} className="panel stack" aria-label={`Attempt ${attempt.number}`} data-attempt={attempt.number} data-chosen={attempt.number === chosen}>
            <div className="bar">
              <b>Attempt {attempt.number}</b>
              <Tag>{attempt.strategy}</Tag>
              <Tag tone={found > 0 ? "good" : "bad"}>{found} hits</Tag>
            </div>
            {reasons.length === 0 ? null : (
              <div className="callout bad">
                <b>Because attempt {before!.number} gave:</b>
                <pre className="mono wrapped">{visible(reasons.join("\n"))}</pre>
              </div>
            )}
            {attempt.reasoning === "" ? null : <span className="muted wrapped">{visible(attempt.reasoning)}</span>}
            {before === undefined ? <Code text={planText(attempt.queries)} /> : <Diff before={planText(before.queries)} after={planText(attempt.queries)} />}
            <span className={found > 0 ? "muted" : "bad"}>
              {Object.entries(attempt.hits)
                .map(([table, hits]) => visible(`${table}: ${attempt.errors[table] ?? `${hits} hits`}`))
                .join(", ")}
            </span>
            {below?.(attempt)}
          </section>
        );
      })}
    </div>
  );
}
