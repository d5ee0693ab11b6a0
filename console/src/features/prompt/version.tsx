import { Link } from "@tanstack/react-router";
import type { components } from "../../api/schema";
import type { Prompt } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { turns, wilson } from "../../shared/values/job-sums";
import { ShareBar } from "../../shared/values/success";
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

/** A row: who made it, when and why, what it is called, and what its jobs came to. */
export function VersionRow({ version, current, sums, who, may, onUse }: Props) {
  const used = version.version === current;
  const success = sums === undefined ? null : wilson(sums);
  return (
    <tr aria-selected={used}>
      <td>
        <span className="bar line">
          <b>v{version.version}</b>
          {used ? <Tag tone="good">In use</Tag> : null}
          {version.is_default ? <Tag>Default</Tag> : null}
          {(version.labels ?? []).map((label) => (
            <Tag key={label} tone="accent">
              {label}
            </Tag>
          ))}
        </span>
      </td>
      <td className="grow">
        <span className="two-lines">{version.note ? visible(version.note) : <span className="muted">No note</span>}</span>
        <span className="sub">
          <When at={version.updated_at} />
          {who === null ? "" : ` by ${visible(who)}`}
          {version.gate ? `, passed an evaluation: ${version.gate.successes} of ${version.gate.runs} runs` : ""}
        </span>
      </td>
      <td>{success === null ? <span className="muted">No jobs yet</span> : <ShareBar {...success} />}</td>
      <td className="num">
        {sums === undefined ? (
          "–"
        ) : (
          <Link to="/jobs" search={{ prompt: `${version.key}@${version.version}` } as never} className="plain" style={{ display: "inline-block", minWidth: 24 }} aria-label={`${count(sums.jobs)} jobs of version ${version.version}`}>
            {count(sums.jobs)}
          </Link>
        )}
      </td>
      <td className="num">{sums === undefined ? "–" : turns(sums)}</td>
      <td className="num">{sums?.cost_usd == null || sums.jobs === 0 ? "–" : cost(sums.cost_usd / sums.jobs)}</td>
      <td className="actions">
        {used ? null : (
          <button type="button" className="link" disabled={!may} title={may ? undefined : "Needs the admin scope"} onClick={onUse}>
            {version.version > current ? "Publish" : "Restore"}
            <span className="unseen"> version {version.version}</span>
          </button>
        )}
      </td>
    </tr>
  );
}
