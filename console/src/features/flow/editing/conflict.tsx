import { Button } from "@mantine/core";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import type { Overtaken as Edit } from "./edits";
import { nameOf } from "../canvas/outline";
import type { Changed } from "./overlap";
import { said } from "./announcements";

interface Props {
  edit: Edit;
  /** As it is now, with what the others changed. */
  flow: FlowView;
  onAgain: () => void;
  onLeave: () => void;
}

/** A conflict with a change by another user: what they changed, what one wanted, and the choice between both. */
export default function Overtaken({ edit, flow, onAgain, onLeave }: Props) {
  const { before, calls, changed } = edit;
  const gone = (changed ?? []).some((each) => each.change === "removed");
  return (
    <section className="callout warn stack" role="alert" aria-label="Changed by another user meanwhile">
      <span>
        <b>Changed by another user meanwhile.</b> Since version {before.version}
        {changed === null ? ", too much to list" : ""}:
      </span>
      {changed === null ? null : (
        <ul className="plain-list">
          {changed.map((each) => (
            <li key={`${each.kind} ${each.id}`}>{visible(theirs(before, flow, each))}</li>
          ))}
        </ul>
      )}
      <span>Yours, which is not done: {visible(said(before, calls))}.</span>
      {gone ? <span>What it is about is gone; the history has the version with it.</span> : null}
      <span className="bar">
        <Button variant="default" onClick={onLeave}>
          Leave theirs
        </Button>
        {gone ? null : (
          <Button color="red" variant="light" onClick={onAgain}>
            Do mine again on it
          </Button>
        )}
      </span>
    </section>
  );
}

/** One change of the others, as one says it. */
export function theirs(before: FlowView, now: FlowView, { kind, id, change, members }: Changed): string {
  if (kind === "setting") return "~ its colour";
  const [was, is] = [nameOf(before, kind, id), nameOf(now, kind, id)];
  if (change === "removed") return `- ${was} was deleted`;
  if (change === "added") return `+ ${is} was added`;
  if (was !== is) return `~ ${was} is called ${is}`;
  return members.includes("position") ? `~ ${is} was moved` : `~ ${is} was changed`;
}
