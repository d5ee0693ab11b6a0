import { Link } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import type { Job } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { titleOf } from "../../shared/page/title";
import { ColumnHead } from "../../shared/tables/column-head";
import { ariaSort, nextSort, type Sort, type SortValue } from "../../shared/tables/sorting";
import { Icon } from "../../shared/values/icon";
import { JobMark } from "../../shared/values/marks";
import { cost, ordinal } from "../../shared/values/numbers";
import { stateOf } from "../../shared/values/states";
import { between, took, useNow, When } from "../../shared/values/time";
import type { Column } from "./columns";
import { stripOf } from "./duration-strip";

const NUMBERS = new Set(["Attempts", "Duration", "Cost", "Created"]);

/** What a column is sorted by. */
export const BY: Readonly<Record<Column, (job: Job) => SortValue>> = {
  State: (job) => stateOf(job).word,
  Task: (job) => titleOf(job),
  Type: (job) => job.kind,
  Model: (job) => job.served?.model,
  Attempts: (job) => job.turns,
  Duration: (job) => between(job.started_at, job.finished_at),
  Cost: (job) => job.usage?.cost_usd,
  Created: (job) => job.created_at,
};

interface TitlesProps {
  shown: readonly Column[];
  sort: Sort;
  onSort: (name: Column) => void;
  onWidth?: (name: Column, width: number | null) => void;
  all: boolean;
  onAll: () => void;
}

/** The heads of the columns, which sort and are dragged wider; the first one selects all rows that are there. */
export function Titles({ shown, sort, onSort, onWidth, all, onAll }: TitlesProps) {
  return (
    <>
      <span role="columnheader">
        <input type="checkbox" className="pick" checked={all} onChange={onAll} aria-label="Select all loaded jobs" />
      </span>
      {shown.map((name) => (
        <span key={name} role="columnheader" className={NUMBERS.has(name) ? "num" : ""} aria-sort={ariaSort(sort, name)}>
          <ColumnHead name={name} sort={sort} onSort={() => onSort(name)} onWidth={onWidth && ((width) => onWidth(name, width))} />
        </span>
      ))}
      <span role="columnheader">
        <span className="unseen">Actions</span>
      </span>
    </>
  );
}

/** The sort after a click on a column; null for the newest first, as the server has them. */
export function nextOf(sort: Sort, name: Column): Sort | null {
  const next = nextSort(sort, name, NUMBERS.has(name)) ?? NEWEST;
  return next.name === NEWEST.name && next.down ? null : next;
}

export const NEWEST: Sort = { name: "Created", down: true };

/** Why a job failed or waits, next to its title. */
function noteOf(job: Job): { text: string; tone: string } | null {
  if (job.error) return { text: job.error.detail || job.error.title, tone: "bad" };
  if (job.waiting?.position) return { text: `${ordinal(job.waiting.position)} in line`, tone: "muted" };
  if (job.state === "running" && job.turns) return { text: `attempt ${job.turns}`, tone: "muted" };
  return null;
}

/** One job as a row; on a narrow page state, type, age and duration are below its title. */
export function Cells({ job, narrow, shown, picked, longest }: { job: Job; narrow: boolean; shown: readonly Column[]; picked: boolean; longest: number }) {
  const note = noteOf(job);
  const title = visible(titleOf(job));
  const cells: Record<Column, () => React.ReactNode> = {
    State: () => <JobMark job={job} />,
    Task: () => (
      <>
        <Link to="/jobs/$id" params={{ id: job.id }} className="task">
          {title}
        </Link>
        {note === null ? null : <span className={`note ${note.tone}`}>{visible(note.text)}</span>}
        {narrow ? (
          <div className="muted">
            <JobMark job={job} /> {job.kind}, <When at={job.created_at} />, <Duration job={job} />
          </div>
        ) : null}
      </>
    ),
    Type: () => job.kind,
    Model: () => (
      <span className="mono muted" title={job.failed_over ? "Another model answered than the first of the chain" : undefined}>
        {job.failed_over ? <span className="warn">fallback </span> : null}
        {job.served ? visible(job.served.model) : "–"}
      </span>
    ),
    Attempts: () => job.turns || "–",
    Duration: () => <Duration job={job} />,
    Cost: () => cost(job.usage?.cost_usd),
    Created: () => <When at={job.created_at} />,
  };
  return (
    <>
      <span role="cell" data-pick={job.id}>
        <input type="checkbox" className="pick" checked={picked} readOnly aria-label={`Select ${title}, ${job.id.slice(0, 13)}`} />
      </span>
      {(narrow ? (["Task"] as const) : shown).map((name) => (
        <span key={name} role="cell" className={`${NUMBERS.has(name) ? "num" : ""} ${name === "Duration" ? "strip" : ""} ${name === "Created" ? "muted" : ""}`} {...(name === "Duration" ? stripOf(job, longest) : {})}>
          {cells[name]()}
        </span>
      ))}
      <span role="cell" className="menu-place">
        <button type="button" className="icon-button" data-menu={job.id} aria-haspopup="menu" aria-label={`Actions for ${title}`}>
          <Icon of={Ellipsis} />
        </button>
      </span>
    </>
  );
}

/** How long it ran; of one that runs, so far. */
export function Duration({ job }: { job: Job }) {
  const running = job.state === "running";
  const now = useNow(running ? 1000 : 0);
  return <>{took(between(job.started_at, running ? new Date(now).toISOString() : job.finished_at))}</>;
}
