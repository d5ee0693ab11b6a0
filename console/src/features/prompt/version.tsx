import { Link } from "@tanstack/react-router";
import type { components } from "../../api/schema";
import type { Prompt } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { interval, turns } from "../../shared/values/job-sums";
import { When } from "../../shared/values/time";

type Row = components["schemas"]["StatsRow"];

interface Props {
  version: Prompt;
  /** The version that jobs use. */
  current: number;
  sums: Row | undefined;
  who: string | null;
  may: boolean;
  onUse: () => void;
}

/** Who made it, when and why, what it is called, and what its jobs came to. */
export function VersionRow({ version, current, sums, who, may, onUse }: Props) {
  const used = version.version === current;
  return (
    <li className="tight">
      <div className="bar">
        <b className="mono">v{version.version}</b>
        <When at={version.updated_at} />
        {who === null ? null : <span className="muted">by {visible(who)}</span>}
        {version.is_default ? <Tag>Default</Tag> : null}
        {(version.labels ?? []).map((label) => (
          <Tag key={label} tone="accent">
            {label}
          </Tag>
        ))}
        {used ? <Tag tone="good">in use</Tag> : null}
        <span className="spacer" />
        <Link to="/jobs" search={{ prompt: `${version.key}@${version.version}` } as never} className="plain">
          View jobs
        </Link>
        {used ? null : (
          <button type="button" className="link" disabled={!may} title={may ? undefined : "Needs the admin scope"} onClick={onUse}>
            {version.version > current ? "Publish" : "Restore"}
          </button>
        )}
      </div>
      {version.note ? <span>{visible(version.note)}</span> : null}
      {version.gate ? (
        <span className="muted">
          passed an evaluation: {version.gate.successes} of {version.gate.runs} runs
        </span>
      ) : null}
      <span className="muted">
        {sums === undefined ? "No jobs yet" : `${count(sums.jobs)} jobs, success ${interval(sums)}, turns ${turns(sums)}, ${cost(sums.cost_usd)}${sums.cost_usd == null || sums.jobs === 0 ? "" : `, ${cost(sums.cost_usd / sums.jobs)} a job`}`}
      </span>
    </li>
  );
}
