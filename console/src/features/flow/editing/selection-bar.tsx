import { ActionIcon, Menu, Popover, Textarea } from "@mantine/core";
import {
  AlignCenterHorizontal, AlignCenterVertical, AlignEndHorizontal, AlignEndVertical, AlignHorizontalDistributeCenter, AlignStartHorizontal, AlignStartVertical, AlignVerticalDistributeCenter,
  ArrowRightLeft, Blocks, Copy, Palette, Pencil, Shapes, Spline, StretchHorizontal, Text, Trash2, Ungroup, UnfoldVertical, type LucideIcon,
} from "lucide-react"; // prettier-ignore
import { useState } from "react";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Icon } from "../../../shared/values/icon";
import type { Alignment } from "../canvas/arrange";
import { looks, PALETTE, PLAIN } from "../canvas/colours";
import { edgesOf, isGroup, nodesOf, type FlowNode, type Line } from "../../../shared/flows/elements";
import { nameOf } from "../canvas/outline";
import { figureOf, SHAPES, type Shape } from "../../../shared/flows/shapes";
import type { Actions } from "./actions";
import type { Call } from "./announcements";

interface Props {
  flow: FlowView;
  chosen: readonly string[];
  link: string | null;
  disabled: boolean;
  actions: Actions;
  call: Call;
  onRemove: (nodes: string[], edges: string[]) => void;
}

export const LINES: readonly (readonly [Line, string])[] = [
  ["arrow", "Arrow"],
  ["open", "Without a head"],
  ["dotted", "Dotted"],
  ["dotted_open", "Dotted, without a head"],
  ["thick", "Thick"],
  ["thick_open", "Thick, without a head"],
  ["invisible", "Invisible"],
];

/** What can be done with what is chosen, next to it and without a key. */
export function SelectionBar({ flow, chosen, link, disabled, actions, call, onRemove }: Props) {
  const nodes = nodesOf(flow).filter((node) => chosen.includes(node.id));
  const edge = link === null ? undefined : edgesOf(flow).find((each) => each.id === link);
  if (nodes.length === 0 && edge === undefined) return null;
  const name = nodes.length > 1 ? `${nodes.length} nodes` : nameOf(flow, edge === undefined ? "node" : "edge", edge?.id ?? nodes[0]!.id);
  return (
    <div className="selection-bar" role="toolbar" aria-label="What is chosen">
      <b className="clip">{visible(name)}</b>
      {edge === undefined ? <OfNodes flow={flow} nodes={nodes} disabled={disabled} actions={actions} call={call} /> : <OfLink line={edge.data?.line ?? "arrow"} id={edge.id} disabled={disabled} actions={actions} />}
      <Tool icon={Trash2} name="Delete" disabled={disabled} onClick={() => onRemove(nodes.map((node) => node.id), edge === undefined ? [] : [edge.id])} />
    </div>
  );
}

function OfLink({ line, id, disabled, actions }: { line: Line; id: string; disabled: boolean; actions: Actions }) {
  return (
    <>
      <Tool icon={Pencil} name="Words on the link (F2)" disabled={disabled} onClick={() => actions.renameLink(id)} />
      <Drop icon={Spline} name="Line" disabled={disabled}>
        {LINES.map(([value, words]) => (
          <Menu.Item key={value} leftSection={<LineSample line={value} />} aria-current={value === line || undefined} onClick={() => actions.draw(value)}>
            {words}
          </Menu.Item>
        ))}
      </Drop>
      <Tool icon={ArrowRightLeft} name="Turn it round" disabled={disabled} onClick={actions.turn} />
    </>
  );
}

const ALIGN: readonly (readonly [Alignment, string, LucideIcon])[] = [
  ["left", "Align left", AlignStartVertical],
  ["center", "Align center", AlignCenterVertical],
  ["right", "Align right", AlignEndVertical],
  ["top", "Align top", AlignStartHorizontal],
  ["middle", "Align middle", AlignCenterHorizontal],
  ["bottom", "Align bottom", AlignEndHorizontal],
];

function OfNodes({ flow, nodes, disabled, actions, call }: { flow: FlowView; nodes: readonly FlowNode[]; disabled: boolean; actions: Actions; call: Call }) {
  const [only] = nodes.length === 1 ? nodes : [];
  const look = looks(flow);
  const color = only === undefined ? undefined : look(only).background;
  const leads = only !== undefined && !isGroup(only) && edgesOf(flow).some((edge) => edge.source === only.id);
  const folded = only?.data?.collapsed === true;
  return (
    <>
      {only === undefined ? null : <Tool icon={Pencil} name="Rename (F2)" disabled={disabled} onClick={() => actions.renameNode(only.id)} />}
      {only === undefined ? null : <Description key={only.id} node={only} disabled={disabled} onWrite={(text) => actions.describe(only.id, text)} />}
      {nodes.every(isGroup) ? null : (
        <Drop icon={Shapes} name="Shape" disabled={disabled}>
          {SHAPES.map(([shape, words]) => (
            <Menu.Item key={shape} leftSection={<ShapeSample shape={shape} />} aria-current={(only?.data?.shape ?? (only && "rect")) === shape || undefined} onClick={() => actions.reshape(shape)}>
              {words}
            </Menu.Item>
          ))}
        </Drop>
      )}
      <Drop icon={Palette} name="Color" disabled={disabled}>
        {PALETTE.map(({ name, value }) => (
          <Menu.Item key={name} leftSection={<span className="swatch" style={{ background: value }} />} aria-current={color === value || undefined} onClick={() => actions.paint(value)}>
            {name[0]!.toUpperCase() + name.slice(1)}
          </Menu.Item>
        ))}
        <Menu.Item leftSection={<span className="swatch none" />} onClick={() => actions.paint(PLAIN.background)}>
          No color
        </Menu.Item>
      </Drop>
      {nodes.length < 2 ? null : (
        <>
          <Drop icon={StretchHorizontal} name="Align and distribute" disabled={disabled}>
            {ALIGN.map(([to, words, icon]) => (
              <Menu.Item key={to} leftSection={<Icon of={icon} />} onClick={() => actions.align(to)}>
                {words}
              </Menu.Item>
            ))}
            <Menu.Item disabled={nodes.length < 3} leftSection={<Icon of={AlignHorizontalDistributeCenter} />} onClick={() => actions.distribute("x")}>
              Distribute horizontally
            </Menu.Item>
            <Menu.Item disabled={nodes.length < 3} leftSection={<Icon of={AlignVerticalDistributeCenter} />} onClick={() => actions.distribute("y")}>
              Distribute vertically
            </Menu.Item>
          </Drop>
          <Tool icon={Blocks} name="Group (Ctrl G)" disabled={disabled} onClick={() => actions.group()} />
        </>
      )}
      {nodes.some(isGroup) ? <Tool icon={Ungroup} name="Ungroup (Ctrl Shift G)" disabled={disabled} onClick={actions.ungroup} /> : null}
      {leads || folded ? <Tool icon={UnfoldVertical} name={folded ? "Unfold what follows" : "Fold what follows"} disabled={disabled} onClick={() => call("toggleSubtreeCollapse", { nodeId: only.id, collapsed: !folded })} /> : null}
      <Tool icon={Copy} name="Duplicate (Ctrl D)" disabled={disabled} onClick={actions.duplicate} />
    </>
  );
}

function Description({ node, disabled, onWrite }: { node: FlowNode; disabled: boolean; onWrite: (text: string) => void }) {
  const was = node.data?.description ?? "";
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(was);
  const toggle = (next: boolean): void => {
    if (next) setText(was);
    else if (text.trim() !== was && !disabled) onWrite(text.trim());
    setOpen(next);
  };
  return (
    <Popover opened={open} onChange={toggle} position="bottom-start" transitionProps={{ duration: 0 }} trapFocus>
      <Popover.Target>
        <ActionIcon variant="subtle" color="gray" aria-label="Description" title="Description" aria-expanded={open} onClick={() => toggle(!open)}>
          <Icon of={Text} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <Textarea label="Description" data-autofocus autosize minRows={3} maxRows={12} w={280} maxLength={50_000} readOnly={disabled} value={text} onChange={(event) => setText(event.currentTarget.value)} description="Saved when you close it" />
      </Popover.Dropdown>
    </Popover>
  );
}

function Tool({ icon, name, disabled, onClick }: { icon: LucideIcon; name: string; disabled: boolean; onClick: () => void }) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={name} title={name} disabled={disabled} onClick={onClick}>
      <Icon of={icon} />
    </ActionIcon>
  );
}

function Drop({ icon, name, disabled, children }: { icon: LucideIcon; name: string; disabled: boolean; children: React.ReactNode }) {
  return (
    <Menu transitionProps={{ duration: 0 }} position="bottom-start" disabled={disabled}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={name} title={name} disabled={disabled}>
          <Icon of={icon} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown className="looks">{children}</Menu.Dropdown>
    </Menu>
  );
}

function ShapeSample({ shape }: { shape: Shape }) {
  const { outline, inner } = figureOf(shape, 24, 14);
  return (
    <svg width={26} height={16} viewBox="-1 -1 26 16" className="sample" aria-hidden="true">
      <path d={shape === "subroutine" ? "M0 0H24V14H0ZM4 0V14M20 0V14" : `${outline}${inner}`} />
    </svg>
  );
}

function LineSample({ line }: { line: Line }) {
  const [kind] = line.split("_");
  return (
    <svg width={26} height={12} className={`sample ${kind}`} aria-hidden="true">
      <path d="M1 6H24" />
      {line === "open" || line.endsWith("_open") || line === "invisible" ? null : <path className="tip" d="M19 2 25 6 19 10" />}
    </svg>
  );
}
