import { ActionIcon } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Pause, Play } from "lucide-react";
import { useEffect } from "react";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Icon } from "../../../shared/values/icon";
import { fetchAhead, SPEEDS, usePlayer, type Frame } from "./playback";
import { tally, type Step } from "./versions";

interface Props {
  flow: FlowView;
  chosen: number | null;
  frame: { data: Frame | undefined };
  step: Step | undefined;
  speed: string;
  onSpeed: (speed: string) => void;
  onChoose: (version: number | null) => void;
}

/** The versions like a film: played, stepped or dragged through, each with the ghost of what it changed. */
export function Rail({ flow, chosen, frame, step, speed, onSpeed, onChoose }: Props) {
  const client = useQueryClient();
  const last = flow.version;
  const at = chosen ?? last;
  const isThere = frame.data?.version === at;
  const player = usePlayer({ at: chosen, last, speed: Number(speed), ready: isThere, go: onChoose });
  useEffect(() => {
    if (player.playing && at + 1 < last) fetchAhead(client, flow.id, at + 1);
  }, [client, flow.id, at, last, player.playing]);
  const go = (version: number): void => {
    player.stop();
    onChoose(version >= last ? null : Math.max(1, version));
  };
  const said = step === undefined ? "" : `${step.name === null ? "" : `${step.name}: `}${step.sentence}`;
  const words = visible(said);
  const operations = chosen !== null && isThere && at > 1 ? ` (${tally(frame.data!.operations)})` : "";
  return (
    <div className="rail" role="group" aria-label="Versions">
      <ActionIcon variant="subtle" color="gray" aria-label="One version back" title="One version back" disabled={at === 1} onClick={() => go(at - 1)}>
        <Icon of={ChevronLeft} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label={player.playing ? "Pause" : "Play"} title={player.playing ? "Pause" : "Play the versions"} disabled={last === 1} aria-pressed={player.playing} onClick={player.toggle}>
        <Icon of={player.playing ? Pause : Play} />
      </ActionIcon>
      <ActionIcon variant="subtle" color="gray" aria-label="One version on" title="One version on" disabled={chosen === null} onClick={() => go(at + 1)}>
        <Icon of={ChevronRight} />
      </ActionIcon>
      <input type="range" aria-label="Version" aria-valuetext={`version ${at} of ${last}${words === "" ? "" : `, ${words}`}`} min={1} max={last} value={at} onChange={(event) => go(Number(event.currentTarget.value))} />
      <span className="rail-at">
        {at} of {last}
      </span>
      <select className="rail-speed" aria-label="Speed of the film" value={speed} onChange={(event) => onSpeed(event.currentTarget.value)}>
        {SPEEDS.map((each) => (
          <option key={each} value={each}>
            {each}/s
          </option>
        ))}
      </select>
      <span className="rail-words clip" role="status">
        {player.playing ? "" : `v${at} · ${words}${operations}`}
      </span>
    </div>
  );
}
