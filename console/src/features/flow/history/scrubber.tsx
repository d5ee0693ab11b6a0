import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { post } from "../../../api/client";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Failed } from "../../../shared/page/loading-states";
import { WriteButton } from "../../../shared/editing/write-button";
import { fetchAhead, SPEEDS, usePlayer, type Frame } from "./playback";
import { Branch, Naming } from "./version-forms";
import { tally, type Step } from "./versions";

interface Props {
  flow: FlowView;
  chosen: number | null;
  frame: { data: Frame | undefined; error: unknown };
  step: Step | undefined;
  speed: string;
  onSpeed: (speed: string) => void;
  onChoose: (version: number | null) => void;
  onRestored: () => void;
  onNamed: () => void;
}

/** The versions like a film: played, stepped or dragged through, each with the ghost of what it changed. */
export function Scrubber({ flow, chosen, frame, step, speed, onSpeed, onChoose, onRestored, onNamed }: Props) {
  const client = useQueryClient();
  const last = flow.version;
  const at = chosen ?? last;
  const there = frame.data?.version === at;
  const player = usePlayer({ at: chosen, last, speed: Number(speed), ready: there, go: onChoose });
  useEffect(() => {
    if (player.playing && at + 1 < last) fetchAhead(client, flow.id, at + 1);
  }, [client, flow.id, at, last, player.playing]);
  const go = (version: number): void => {
    player.stop();
    onChoose(version >= last ? null : Math.max(1, version));
  };
  const restore = useMutation({
    mutationFn: (version: number) => post(`/v1/flows/${flow.id}/versions/${version}/restore`, undefined, { "If-Match": `"v${flow.version}"` }),
    onSuccess: () => {
      onChoose(null);
      onRestored();
    },
    onError: onRestored,
  });
  const said = step === undefined ? "" : `${step.name === null ? "" : `${step.name}: `}${step.sentence}`;
  return (
    <>
      <div className="bar film-bar">
        <Button variant="default" disabled={at === 1} aria-label="One version back" onClick={() => go(at - 1)}>
          ◂
        </Button>
        <Button variant="default" disabled={last === 1} aria-pressed={player.playing} onClick={player.toggle}>
          {player.playing ? "Pause" : "Play"}
        </Button>
        <Button variant="default" disabled={chosen === null} aria-label="One version on" onClick={() => go(at + 1)}>
          ▸
        </Button>
        <input type="range" aria-label="Version" aria-valuetext={`version ${at} of ${last}${visible(said) === "" ? "" : `, ${visible(said)}`}`} min={1} max={last} value={at} onChange={(event) => go(Number(event.currentTarget.value))} />
        <span className="mono">
          {at} of {last}
        </span>
        <select className="plain-input" aria-label="Speed of the film" value={speed} onChange={(event) => onSpeed(event.currentTarget.value)}>
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {each} a second
            </option>
          ))}
        </select>
      </div>
      <p className="film-line" role="status">
        {player.playing ? null : <Line version={at} said={said} frame={chosen !== null && there ? frame.data : undefined} />}
      </p>
      {frame.error && chosen !== null ? <Failed error={frame.error} /> : null}
      <div className="bar">
        {chosen === null ? null : (
          <>
            <WriteButton loading={restore.isPending} onClick={() => restore.mutate(chosen)}>
              Restore version {chosen}
            </WriteButton>
            <Button variant="default" onClick={() => go(last)}>
              Back to the present
            </Button>
            <span className="spacer" />
          </>
        )}
        <Branch key={`branch ${at}`} flow={flow} version={at} />
        <Naming key={`${at} ${step?.name ?? ""}`} flowId={flow.id} version={at} name={step?.name ?? null} onNamed={onNamed} />
      </div>
      {restore.error === null ? null : <Failed error={restore.error} />}
    </>
  );
}

function Line({ version, said, frame }: { version: number; said: string; frame: Frame | undefined }) {
  return (
    <>
      <span className="mono">v{version}</span> {visible(said)}
      {frame === undefined || frame.version === 1 ? null : <span className="muted"> ({tally(frame.operations)})</span>}
    </>
  );
}
