import { Link } from "@tanstack/react-router";
import type { Job } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { JobMark } from "../../shared/values/marks";
import { cost } from "../../shared/values/numbers";
import { between, took, When } from "../../shared/values/time";
import type { Column } from "./columns";
import { stripOf } from "./duration-strip";

const NUMBERS = new Set(["Turns", "Took", "Cost"]);

/** The heads of the columns. */
export function Titles({ shown }: { shown: readonly Column[] }) {
  const names = ["", ...shown];
  return (
    <>
      {names.map((name) => (
        <span key={name} role="columnheader" className={NUMBERS.has(name) ? "num" : ""}>
          {name === "" ? <span className="hidden">Choose</span> : name}
        </span>
      ))}
    </>
  );
}

/** One job as a row; on a narrow page kind, age and seconds stand below its title. */
export function Cells({ job, narrow, shown, picked, longest }: { job: Job; narrow: boolean; shown: readonly Column[]; picked: boolean; longest: number }) {
  const said = job.error?.detail ?? "";
  const has = (name: Column): boolean => !narrow && shown.includes(name);
  return (
    <>
      <span role="cell" data-pick={job.id}>
        <input type="checkbox" className="pick" checked={picked} readOnly aria-label={`Choose ${job.id}`} />
      </span>
      <span role="cell">
        <JobMark job={job} />
      </span>
      {has("Kind") ? <span role="cell">{job.kind}</span> : null}
      <span role="cell">
        <Link to="/jobs/$id" params={{ id: job.id }} className="plain">
          {visible(job.title ?? `${job.kind} ${job.id.slice(0, 8)}`)}
        </Link>
        {said === "" ? null : <span className="bad"> {visible(said)}</span>}
        {narrow ? (
          <div className="muted">
            {job.kind}, <When at={job.created_at} />, {took(between(job.started_at, job.finished_at))}
          </div>
        ) : null}
      </span>
      {has("Model") ? (
        <span role="cell" className="muted">
          {job.failed_over ? <span className="warn">failed over: </span> : null}
          {job.served ? visible(`${job.served.provider}/${job.served.model}`) : ""}
        </span>
      ) : null}
      {has("Turns") ? (
        <span role="cell" className="num">
          {job.turns || "–"}
        </span>
      ) : null}
      {has("When") ? (
        <span role="cell">
          <When at={job.created_at} />
        </span>
      ) : null}
      {has("Took") ? (
        <span role="cell" className="num strip" {...stripOf(job, longest)}>
          {took(between(job.started_at, job.finished_at))}
        </span>
      ) : null}
      {has("Cost") ? (
        <span role="cell" className="num">
          {cost(job.usage?.cost_usd)}
        </span>
      ) : null}
    </>
  );
}
