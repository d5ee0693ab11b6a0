import { ActionIcon } from "@mantine/core";
import { ArrowRight, Blocks, Hand, Plus, SquareMousePointer, type LucideIcon } from "lucide-react";
import { Icon } from "../../../shared/values/icon";

interface Props {
  disabled: boolean;
  selecting: boolean;
  onSelecting: (on: boolean) => void;
  onAdd: () => void;
  /** Missing while nothing is chosen that it could be done with. */
  onLink: (() => void) | undefined;
  onGroup: (() => void) | undefined;
}

/** What is done on the canvas most often. */
export function Toolbar({ disabled, selecting, onSelecting, onAdd, onLink, onGroup }: Props) {
  return (
    <div className="canvas-tools" role="toolbar" aria-label="Canvas" aria-orientation="vertical">
      <Tool icon={Hand} name="Move the canvas (H)" pressed={!selecting} onClick={() => onSelecting(false)} />
      <Tool icon={SquareMousePointer} name="Select an area (V)" pressed={selecting} onClick={() => onSelecting(true)} />
      <span className="rule" />
      <Tool icon={Plus} name="New node (N)" disabled={disabled} onClick={onAdd} />
      <Tool icon={ArrowRight} name={onLink === undefined ? "Link (L): choose a node first" : "Link (L)"} disabled={disabled || onLink === undefined} onClick={onLink} />
      <Tool icon={Blocks} name={onGroup === undefined ? "Group (Ctrl G): choose two nodes first" : "Group (Ctrl G)"} disabled={disabled || onGroup === undefined} onClick={onGroup} />
    </div>
  );
}

function Tool({ icon, name, pressed, disabled, onClick }: { icon: LucideIcon; name: string; pressed?: boolean; disabled?: boolean; onClick: (() => void) | undefined }) {
  return (
    <ActionIcon variant="subtle" color="gray" size={30} aria-label={name} title={name} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon of={icon} />
    </ActionIcon>
  );
}
