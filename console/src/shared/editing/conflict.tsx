import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { Diff } from "../code/code";

interface Props {
  theirs: string;
  mine: string;
  who: ReactNode;
  saving: boolean;
  onTake: () => void;
  onSaveOver: () => void;
  onKeep: (() => void) | null;
}

/** Another user has saved while one was editing: both versions, and neither is lost unseen. */
export default function Overtaken({ theirs, mine, who, saving, onTake, onSaveOver, onKeep }: Props) {
  return (
    <section className="callout warn stack" role="alert" aria-label="Another user saved meanwhile">
      <span>
        <b>Another user saved meanwhile.</b> {who}
      </span>
      {theirs === mine ? (
        <span>It is the same as yours.</span>
      ) : (
        <>
          <span>
            From theirs <b className="mono">-</b> to yours <b className="mono">+</b>:
          </span>
          <Diff before={theirs} after={mine} />
        </>
      )}
      <span className="bar">
        <Button variant="default" onClick={onTake}>
          Take theirs
        </Button>
        {theirs === mine ? null : (
          <Button color="red" variant="light" loading={saving} onClick={onSaveOver}>
            Save mine over it
          </Button>
        )}
        {onKeep === null ? null : (
          <Button variant="subtle" onClick={onKeep}>
            Keep editing
          </Button>
        )}
      </span>
    </section>
  );
}
