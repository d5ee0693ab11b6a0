import "@xyflow/react/dist/base.css";
import { Background, Controls, Handle, Panel, Position, ReactFlow, useEdgesState, useNodesState, type Edge, type Node, type NodeChange, type NodeProps, type XYPosition } from "@xyflow/react";
import { createContext, lazy, Suspense, useContext, useEffect, useRef } from "react";
import { visible } from "../../shared/ansi";
import { SIGNS, type Mark } from "./graph";

interface Props {
  nodes: Node[];
  edges: Edge[];
  editable: boolean;
  onMove: (moved: { nodeId: string; position: XYPosition }[]) => void;
  onConnect: (source: string, target: string) => void;
  onRemove: (nodes: string[], edges: string[]) => void;
  onChoose: (id: string | null) => void;
  onFold: (groupId: string, expand: boolean) => void;
}

const Minimap = lazy(() => import("./minimap"));
const Fold = createContext<Props["onFold"] | null>(null);
const TYPES = { box: Box };
const SETTLED_MS = 400;
const WORTH_A_MAP = 12;

/** The diagram. Only what is in sight is drawn; the keyboard reaches every node (Tab), moves it (arrows) and deletes it. */
export default function Canvas({ nodes, edges, editable, onMove, onConnect, onRemove, onChoose, onFold }: Props) {
  const [shown, setShown, changeNodes] = useNodesState(nodes);
  const [lines, setLines, changeEdges] = useEdgesState(edges);
  useEffect(
    () =>
      setShown((now) => {
        const selected = new Set(now.filter((node) => node.selected).map((node) => node.id));
        return selected.size === 0 ? nodes : nodes.map((node) => (selected.has(node.id) ? { ...node, selected: true } : node));
      }),
    [nodes, setShown],
  );
  useEffect(() => setLines(edges), [edges, setLines]);
  const moved = useRef(new Map<string, XYPosition>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The arrow keys move in many small steps: they are saved as one, as the end of a drag is.
  const change = (changes: NodeChange[]): void => {
    changeNodes(changes);
    for (const each of changes) if (editable && each.type === "position" && each.dragging === false && each.position) moved.current.set(each.id, each.position);
    if (moved.current.size === 0) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      onMove([...moved.current].map(([nodeId, position]) => ({ nodeId, position })));
      moved.current.clear();
    }, SETTLED_MS);
  };
  return (
    <div className="canvas">
      <Fold value={editable ? onFold : null}>
      <ReactFlow
        nodes={shown}
        edges={lines}
        nodeTypes={TYPES}
        onNodesChange={change}
        onEdgesChange={changeEdges}
        onConnect={({ source, target }) => onConnect(source, target)}
        onDelete={(gone) => onRemove(gone.nodes.map((node) => node.id), gone.edges.map((edge) => edge.id))}
        onBeforeDelete={() => Promise.resolve(editable)}
        onSelectionChange={({ nodes: chosen }) => onChoose(chosen[0]?.id ?? null)}
        nodesDraggable={editable}
        nodesConnectable={editable}
        deleteKeyCode={editable ? ["Delete", "Backspace"] : null}
        onlyRenderVisibleElements
        fitView
        minZoom={0.05}
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

function Box({ id, data }: NodeProps<Node<{ label: string; mark: Mark; group: boolean; open: boolean }>>) {
  const fold = useContext(Fold);
  return (
    <div className={`node ${data.mark} ${data.group ? "group" : ""} ${data.open ? "open" : ""}`}>
      <Handle type="target" position={Position.Left} />
      {data.group ? (
        <button type="button" className="fold nodrag" disabled={fold === null} aria-expanded={data.open} aria-label={`${data.open ? "Fold" : "Unfold"} ${data.label}`} onClick={() => fold?.(id, !data.open)}>
          {data.open ? "▾" : "▸"}
        </button>
      ) : null}
      {SIGNS[data.mark]}
      {visible(data.label)}
      <Handle type="source" position={Position.Right} />
    </div>
  );
}
