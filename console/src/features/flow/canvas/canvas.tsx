import "@xyflow/react/dist/base.css";
import { Background, Controls, Panel, ReactFlow, useEdgesState, useNodesState, type Edge, type Node, type NodeChange, type ReactFlowInstance, type XYPosition } from "@xyflow/react";
import { lazy, Suspense, useCallback, useEffect, useImperativeHandle, useRef, useState, type Ref } from "react";
import { Box, Fold } from "./node-box";
import type { CanvasHandle } from "./arrow-keys";
import { keepHeld } from "./merged-graph";
import { HELP } from "../editing/announcements";
import { choosing, useInSight, type Sight } from "./viewport";

interface Props {
  nodes: Node[];
  edges: Edge[];
  editable: boolean;
  /** Whether versions pass by: then nodes glide to where they went. */
  film: boolean;
  /** What was chosen and in sight when the page was left; without that, the whole of it. */
  chosen: readonly string[];
  sight: Sight | null;
  handle: Ref<CanvasHandle>;
  onMove: (moved: { nodeId: string; position: XYPosition }[]) => void;
  onConnect: (source: string, target: string) => void;
  onRemove: (nodes: string[], edges: string[]) => void;
  onChoose: (ids: string[], edges: string[]) => void;
  onFold: (groupId: string, expand: boolean) => void;
  onSight: (sight: Sight) => void;
}

const Minimap = lazy(() => import("./minimap"));
const idOf = ({ id }: { id: string }): string => id;
const TYPES = { box: Box };
const SETTLED_MS = 400;
const WORTH_A_MAP = 12;
// A larger one opens at a size at which a part of it is in sight: to draw all of thousands takes many seconds. The map has the whole.
const FITS = 500;
const WHOLE = { minZoom: 0.05 };
const PART = { minZoom: 0.3 };

/** The diagram. Only what is in sight is drawn; the keyboard reaches every node (Tab, arrows), moves it (Alt) and deletes it. */
export default function Canvas({ nodes, edges, editable, film, chosen, sight, handle, onMove, onConnect, onRemove, onChoose, onFold, onSight }: Props) {
  const [first] = useState(() => choosing(nodes, chosen));
  const [shown, setShown, changeNodes] = useNodesState(first);
  const [lines, setLines, changeEdges] = useEdgesState(edges);
  const moved = useRef(new Map<string, XYPosition>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const flow = useRef<ReactFlowInstance | null>(null);
  useEffect(() => setShown((now) => keepHeld(now, nodes, (id) => moved.current.has(id))), [nodes, setShown]);
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
  const tellChosen = useCallback(({ nodes: chosen, edges: cut }: { nodes: Node[]; edges: Edge[] }) => onChoose(chosen.map(idOf), cut.map(idOf)), [onChoose]);
  const { begin, center, tell, place, touch } = useInSight(flow, sight, onSight);
  useImperativeHandle(handle, () => ({ nodes: shown, change, center }));
  return (
    <div ref={place} className={`canvas ${film ? "film" : ""}`} {...touch}>
      <Fold value={editable ? onFold : null}>
        <ReactFlow
          nodes={shown}
          edges={lines}
          nodeTypes={TYPES}
          onInit={begin}
          onMoveEnd={tell}
          onNodesChange={change}
          onEdgesChange={changeEdges}
          onConnect={({ source, target }) => onConnect(source, target)}
          onDelete={(gone) => onRemove(gone.nodes.map(idOf), gone.edges.map(idOf))}
          onBeforeDelete={() => Promise.resolve(editable)}
          onSelectionChange={tellChosen}
          nodesDraggable={editable}
          nodesConnectable={editable}
          deleteKeyCode={editable ? ["Delete", "Backspace"] : null}
          ariaLabelConfig={HELP}
          onlyRenderVisibleElements
          fitView={sight === null}
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
