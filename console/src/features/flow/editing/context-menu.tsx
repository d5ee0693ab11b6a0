import { Menu } from "@mantine/core";
import type { FlowView } from "../../../api/types";
import type { MenuAt } from "../canvas/canvas";
import { isGroup, nodesOf } from "../../../shared/flows/elements";
import type { Actions } from "./actions";

interface Props {
  menu: MenuAt;
  flow: FlowView;
  chosen: readonly string[];
  editable: boolean;
  actions: Actions;
  onCopy: () => void;
  onLink: () => void;
  onFold: (id: string, expand: boolean) => void;
  onRemove: (nodes: string[], edges: string[]) => void;
  onSelectAll: () => void;
  onFit: () => void;
  onLayout: (direction: "LR" | "TB") => void;
  onClose: () => void;
}

type Item = readonly [words: string, keys: string, run: () => void, mayRead?: boolean] | null;

/** What a right click, Shift F10 or the menu key offers, by what it is on. */
export function ContextMenu(props: Props) {
  const { menu, editable, onClose } = props;
  return (
    <Menu key={`${menu.x} ${menu.y} ${menu.id}`} opened onChange={(open) => !open && onClose()} position="bottom-start" transitionProps={{ duration: 0 }} shadow="md" returnFocus>
      <Menu.Target>
        <span className="menu-at" style={{ left: menu.x, top: menu.y }} />
      </Menu.Target>
      <Menu.Dropdown aria-label="What can be done here" className="context-menu">
        {itemsOf(props).map((item, at) =>
          item === null ? (
            <Menu.Divider key={at} />
          ) : (
            <Menu.Item key={item[0]} disabled={!editable && item[3] !== true} className={item[0].startsWith("Delete") ? "danger" : undefined} rightSection={item[1] === "" ? undefined : <kbd>{item[1]}</kbd>} onClick={item[2]}>
              {item[0]}
            </Menu.Item>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function itemsOf({ menu, flow, chosen, actions, onCopy, onLink, onFold, onRemove, onSelectAll, onFit, onLayout }: Props): Item[] {
  if (menu.on === "edge") {
    return [["Words on the link", "F2", () => actions.renameLink(menu.id)], ["Turn it round", "", actions.turn], null, ["Delete link", "Del", () => onRemove([], [menu.id])]];
  }
  if (menu.on === "pane") {
    return [
      ["New node here", "N", () => actions.add(menu.at)],
      ["Select all", "Ctrl A", onSelectAll, true],
      ["Fit to screen", "Shift 1", onFit, true],
      null,
      ["Lay out left to right", "", () => onLayout("LR")],
      ["Lay out top to bottom", "", () => onLayout("TB")],
    ];
  }
  const ids = chosen.includes(menu.id) ? [...chosen] : [menu.id];
  const [node] = nodesOf(flow).filter((each) => each.id === menu.id);
  const many = ids.length > 1;
  const group: Item[] = node !== undefined && isGroup(node) ? [[node.isCollapsed === true ? "Unfold" : "Fold", "", () => onFold(node.id, node.isCollapsed === true)], ["Ungroup", "Ctrl Shift G", actions.ungroup]] : [];
  return [
    ...(many ? [] : ([["Rename", "F2", () => actions.renameNode(menu.id)], ["New node after it", "N", () => actions.add(undefined, menu.id)], ["Link to…", "L", onLink]] as Item[])),
    ...(many ? ([["Group", "Ctrl G", () => actions.group(ids)]] as Item[]) : []),
    ...group,
    null,
    ["Copy", "Ctrl C", onCopy, true],
    ["Duplicate", "Ctrl D", actions.duplicate],
    null,
    [many ? `Delete ${ids.length} nodes` : "Delete", "Del", () => onRemove(ids, [])],
  ];
}
