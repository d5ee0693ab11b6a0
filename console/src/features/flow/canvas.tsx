import "@xyflow/react/dist/base.css";
import { Background, Controls, Panel, ReactFlow, useEdgesState, useNodesState, type Edge, type Node, type NodeChange, type ReactFlowInstance, type XYPosition } from "@xyflow/react";
import { lazy, Suspense, useCallback, useEffect, useRef } from "react";
import { Box, Fold } from "./box";
import { useArrows } from "./arrow-keys";
import { linkedWith } from "./arrows";

interface Props {
  nodes: Node[];
  edges: Edge[];
  editable: boolean;
  /** Whether versions pass by: then nodes glide to where they went. */
  film: boolean;
  /** A node to choose and to show, from elsewhere on the page. */
  shown: { id: string } | null;
  onMove: (moved: { nodeId: string; position: XYPosition }[]) => void;
  onConnect: (source: string, target: string) => void;
  onRemove: (nodes: string[], edges: string[]) => void;
  onChoose: (ids: string[]) => void;
  onFold: (groupId: string, expand: boolean) => void;
}

const Minimap = lazy(() => import("./minimap"));
const TYPES = { box: Box };
const SETTLED_MS = 400;
const WORTH_A_MAP = 12;
// A larger one opens at a size at which a part of it is in sight: to draw all of thousands takes many seconds. The map has the whole.
const FITS = 500;
const WHOLE = { minZoom: 0.05 };
const PART = { minZoom: 0.3 };
const HELP = {
  "node.a11yDescription.default": "Enter chooses the node, with Ctrl further ones. The arrows follow its edges, with Alt they move it. Delete removes it, Escape lets go of it.",
  "node.a11yDescription.keyboardDisabled": "Enter chooses the node. The arrows follow its edges.",
};

/** The diagram. Only what is in sight is drawn; the keyboard reaches every node (Tab, arrows), moves it (Alt) and deletes it. */
export default function Canvas({ nodes, edges, editable, film, shown: wanted, onMove, onConnect, onRemove, onChoose, onFold }: Props) {
  const [shown, setShown, changeNodes] = useNodesState(nodes);
  const [lines, setLines, changeEdges] = useEdgesState(edges);
  const moved = useRef(new Map<string, XYPosition>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const flow = useRef<ReactFlowInstance | null>(null);
  useEffect(
    () =>
      setShown((now) => {
        // What somebody else changes never lets go of what is chosen here, and takes no node out of a hand.
        const held = new Map(now.filter((node) => node.selected || node.dragging || moved.current.has(node.id)).map((node) => [node.id, node]));
        if (held.size === 0) return nodes;
        return nodes.map((node) => {
          const mine = held.get(node.id);
          if (mine === undefined) return node;
          const own = mine.dragging || moved.current.has(node.id) ? { position: mine.position, dragging: mine.dragging } : {};
          return { ...node, ...own, selected: mine.selected ?? false };
        });
      }),
    [nodes, setShown],
  );
  useEffect(() => setLines(edges), [edges, setLines]);
  // Many small steps, of keys or of a drag, are saved as one.
  const change = useCallback(
    (changes: NodeChange[]): void => {
      changeNodes(changes);
      for (const each of changes) if (editable && each.type === "position" && each.dragging === false && each.position) moved.current.set(each.id, each.position);
      if (moved.current.size === 0) return;
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        onMove([...moved.current].map(([nodeId, position]) => ({ nodeId, position })));
        moved.current.clear();
      }, SETTLED_MS);
    },
    [changeNodes, editable, onMove],
  );
  // The same function each time: a new one is told what is chosen anew.
  const tellChosen = useCallback(({ nodes: chosen }: { nodes: Node[] }) => onChoose(chosen.map((node) => node.id)), [onChoose]);
  const { press, go, focus } = useArrows({ nodes: shown, edges: lines, editable, change, flow });
  const remove = (gone: { nodes: Node[]; edges: Edge[] }): void => {
    const ids = gone.nodes.map((node) => node.id);
    onRemove(ids, gone.edges.map((edge) => edge.id));
    // Who works by keys goes on beside what is gone.
    const next = ids.flatMap((id) => [...linkedWith(edges, id)]).find((id) => !ids.includes(id));
    if (next !== undefined) focus(next);
  };
  useEffect(() => {
    if (wanted !== null) go(wanted.id);
  }, [wanted]); // not when the nodes change
  return (
    <div className={`canvas ${film ? "film" : ""}`} onKeyDownCapture={press}>
      <Fold value={editable ? onFold : null}>
        <ReactFlow
          nodes={shown}
          edges={lines}
          nodeTypes={TYPES}
          onInit={(instance) => (flow.current = instance)}
          onNodesChange={change}
          onEdgesChange={changeEdges}
          onConnect={({ source, target }) => onConnect(source, target)}
          onDelete={remove}
          onBeforeDelete={() => Promise.resolve(editable)}
          onSelectionChange={tellChosen}
          nodesDraggable={editable}
          nodesConnectable={editable}
          deleteKeyCode={editable ? ["Delete", "Backspace"] : null}
          ariaLabelConfig={HELP}
          onlyRenderVisibleElements
          fitView
          fitViewOptions={nodes.length > FITS ? PART : WHOLE}
          minZoom={WHOLE.minZoom}
          proOptions={{ hideAttribution: false }}
        >
          <Background />
          <Controls showInteractive={false} />
          {nodes.length > WORTH_A_MAP ? (
            <Panel position="bottom-right" className="minimap-place">
              <Suspense>
                <Minimap nodes={shown} />
              </Suspense>
            </Panel>
          ) : null}
        </ReactFlow>
      </Fold>
    </div>
  );
}
