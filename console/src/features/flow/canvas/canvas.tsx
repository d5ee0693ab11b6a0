import "@xyflow/react/dist/base.css";
import "./canvas.css";
import { applyNodeChanges, Background, ConnectionMode, ReactFlow, ReactFlowProvider, useEdgesState, useReactFlow, useStore, type FinalConnectionState, type NodeChange } from "@xyflow/react";
import { lazy, Suspense, useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type MouseEvent, type ReactNode, type RefObject } from "react";
import { HELP } from "../editing/announcements";
import { reframed, savedMoves, withInside, type Move } from "./arrange";
import type { CanvasHandle } from "./arrow-keys";
import { around } from "../../../shared/flows/boxes";
import { EdgeBoxes } from "./edge-boxes";
import type { Point, Rect, Size } from "../../../shared/flows/elements";
import { Heads, Link } from "./link";
import { keepHeld, type DrawnEdge, type DrawnNode } from "./merged-graph";
import { Box, HandsOf } from "./node-box";
import { rectOf, routed } from "./routes";
import { choosing, FAR, isShown, LARGEST_ZOOM, sightIn, SMALLEST, viewAt, viewOf, type Sight } from "./viewport";
import { ZoomBar } from "./zoom-bar";

export interface MenuAt {
  x: number;
  y: number;
  on: "node" | "edge" | "pane";
  id: string;
  at: Point;
}

export interface Props {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
  editable: boolean;
  /** Whether versions pass by: then nodes glide to where they went. */
  film: boolean;
  /** Whether a drag selects what is in a frame, and does not move the canvas. */
  selecting: boolean;
  look: { background: string; ink: string } | null;
  /** What was chosen and in sight when the page was left; without that, the whole of it. */
  chosen: readonly string[];
  sight: Sight | null;
  handle: RefObject<CanvasHandle | null>;
  onMove: (moved: Move[]) => void;
  onResize: (id: string, box: Rect) => void;
  onConnect: (source: string, target: string) => void;
  onReconnect: (edge: string, ends: { sourceNodeId?: string; targetNodeId?: string }) => void;
  onDropLink: (source: string, at: Point) => void;
  onChoose: (ids: string[], edges: string[]) => void;
  onFold: (groupId: string, expand: boolean) => void;
  onSight: (sight: Sight) => void;
  onRename: (on: "node" | "edge" | "pane", id: string, at: Point) => void;
  onMenu: (menu: MenuAt) => void;
  /** Called once it is known what to show. */
  onReady: () => void;
  foot: ReactNode;
}

const Overview = lazy(() => import("./overview"));
const Minimap = lazy(() => import("./minimap"));
const TYPES = { box: Box };
const LINKS = { link: Link };
const NO_NODES: DrawnNode[] = [];
const NO_EDGES: DrawnEdge[] = [];
const SETTLED_MS = 400;
// Of more nodes than this a small view is one picture: an element for each would take many seconds.
const MANY = 300;
const WORTH_A_MAP = 60;

/** The diagram. Only what is in sight is drawn; the keyboard reaches every node (Tab, arrows), moves it (Alt) and deletes it. */
export default function Canvas(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  const [map, setMap] = useState(() => props.nodes.length > WORTH_A_MAP && window.innerWidth > 1000);
  useLayoutEffect(() => {
    const { width, height } = place.current!.getBoundingClientRect();
    setSize({ width, height });
  }, []);
  const style = props.look === null ? undefined : ({ background: props.look.background, "--on-canvas": props.look.ink } as CSSProperties);
  return (
    <ReactFlowProvider>
      <div ref={place} className={`canvas ${props.film ? "film" : ""} ${props.look === null ? "" : "own-look"}`} style={style}>
        {size === null ? null : <Diagram {...props} place={place} size={size} />}
      </div>
      <div className="canvas-foot">
        {props.foot}
        <span className="spacer" />
        {map ? (
          <Suspense>
            <Minimap nodes={props.nodes} />
          </Suspense>
        ) : null}
        <ZoomBar map={map} onMap={setMap} onFit={() => props.handle.current?.fit()} />
      </div>
    </ReactFlowProvider>
  );
}

function Diagram({ nodes, edges, editable, selecting, chosen, sight, handle, onMove, onResize, onConnect, onReconnect, onDropLink, onChoose, onFold, onSight, onRename, onMenu, onReady, place, size: start }: Props & { place: RefObject<HTMLDivElement | null>; size: Size }) {
  const [shown, setShown] = useState(() => choosing(nodes, chosen));
  const [lines, setLines, changeEdges] = useEdgesState<DrawnEdge>(edges);
  const moved = useRef(new Map<string, Point>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const now = useRef({ shown, nodes, touched: false });
  now.current = { ...now.current, shown, nodes };
  const { setViewport, getViewport, screenToFlowPosition } = useReactFlow<DrawnNode, DrawnEdge>();
  const [first] = useState(() => (sight === null ? viewOf(around(visibleRects(nodes)), start) : viewAt(sight, start)));
  // Until the library is ready its own zoom is 1: every node and word of a large flow would be drawn once, for many seconds.
  const isFar = useStore((state) => (state.panZoom === null ? first.zoom : state.transform[2]) < FAR);
  const overview = isFar && nodes.length > MANY;
  useEffect(() => setShown((before) => keepHeld(before, nodes, (id) => moved.current.has(id))), [nodes]);
  useEffect(() => setLines((before) => withChosen(before, edges)), [edges, setLines]);
  const known = useRef(new Map<string, DrawnEdge>());
  const links = useMemo(() => (overview ? NO_EDGES : routed(shown, lines, known.current)), [shown, lines, overview]);
  known.current = useMemo(() => new Map(links.map((each) => [each.id, each])), [links]);
  // Many small steps, of keys or of a drag, are saved as one.
  const save = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const moves = savedMoves(now.current.nodes, moved.current);
      moved.current.clear();
      if (moves.length > 0) onMove(moves);
    }, SETTLED_MS);
  }, [onMove]);
  const change = useCallback(
    (changes: NodeChange<DrawnNode>[]): void => {
      const positions = new Map(changes.flatMap((each) => (each.type === "position" && each.position && editable ? [[each.id, each.position] as const] : [])));
      const all = withInside(now.current.shown, positions);
      const inside = [...all].flatMap(([id, position]): NodeChange<DrawnNode>[] => (positions.has(id) ? [] : [{ type: "position", id, position }]));
      const next = applyNodeChanges([...changes, ...inside], now.current.shown);
      now.current.shown = all.size > 0 ? reframed(next) : next;
      setShown(now.current.shown);
      if (!changes.some((each) => each.type === "position" && each.dragging === false)) return;
      for (const [id, position] of all) moved.current.set(id, position);
      if (moved.current.size > 0) save();
    },
    [editable, save],
  );
  const size = (): Size => place.current?.getBoundingClientRect() ?? start;
  const reportSight = (): void => {
    if (now.current.touched) onSight(sightIn(getViewport(), size()));
  };
  const show = (part: Rect, whole = false): void => {
    if (!whole && isShown(part, getViewport(), size())) return;
    now.current.touched = !whole;
    const { zoom } = getViewport();
    const fits = part.width * zoom < size().width * 0.8 && part.height * zoom < size().height * 0.8;
    const middle = { x: part.x + part.width / 2, y: part.y + part.height / 2, zoom };
    void setViewport(whole || !fits ? viewOf(part, size()) : viewAt(middle, size())).then(reportSight);
  };
  const touch = (): void => void (now.current.touched = true);
  useImperativeHandle(handle, () => ({
    nodes: now.current.shown,
    change,
    place: (places) => change([...places].map(([id, position]) => ({ type: "position", id, position, dragging: false }))),
    chosen: () => now.current.shown.filter((node) => node.selected).map(idOf),
    choose: (ids, edge) => {
      const wanted = new Set(ids);
      setShown((before) => before.map((node) => ((node.selected ?? false) === wanted.has(node.id) ? node : { ...node, selected: wanted.has(node.id) })));
      setLines((before) => before.map((each) => ((each.selected ?? false) === (each.id === edge) ? each : { ...each, selected: each.id === edge })));
    },
    center: (x, y, zoom) => {
      touch();
      void setViewport(viewAt({ x, y, zoom: Math.max(getViewport().zoom, zoom ?? 0) }, size())).then(reportSight);
    },
    show,
    fit: () => show(around(visibleRects(now.current.shown)), true),
    onScreen: ({ x, y, width, height }) => {
      const view = getViewport();
      return { x: x * view.zoom + view.x, y: y * view.zoom + view.y, width: width * view.zoom, height: height * view.zoom };
    },
    middle: () => sightIn(getViewport(), size()),
    rect: (id) => {
      const node = now.current.shown.find((each) => each.id === id);
      return node === undefined ? null : rectOf(node);
    },
  }));
  // Until the user moves the view, all of it stays in sight, also when the window changes.
  useEffect(() => {
    const watch = new ResizeObserver(() => {
      if (!now.current.touched && sight === null) void setViewport(viewOf(around(visibleRects(now.current.shown)), size()));
    });
    watch.observe(place.current!);
    onReady();
    return () => watch.disconnect();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  const choose = useCallback(({ nodes: some, edges: cut }: { nodes: DrawnNode[]; edges: DrawnEdge[] }) => (overview ? undefined : onChoose(some.map(idOf), cut.map(idOf))), [onChoose, overview]);
  /** Of a picture of thousands a click shows a part, with the node that it hit. */
  const nearer = (at: Point): void => {
    const on = now.current.shown.find((node) => node.hidden !== true && !node.data.open && contains(rectOf(node), at));
    void setViewport(viewAt({ ...at, zoom: on === undefined ? Math.min(getViewport().zoom * 3, 1) : 1 }, size())).then(reportSight);
    if (on !== undefined) setShown((before) => choosing(before, [on.id]));
  };
  const hands = useMemo(() => (editable ? { fold: onFold, resize: onResize } : null), [editable, onFold, onResize]);
  const boxOf = useCallback((id: string) => now.current.shown.filter((node) => node.id === id).map(rectOf)[0], []);
  const dropped = (event: globalThis.MouseEvent | TouchEvent, { fromNode, isValid }: FinalConnectionState): void => {
    if (isValid || fromNode === null || !("clientX" in event)) return;
    const on = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>(".react-flow__node:not(.is-frame)");
    if (on?.dataset.id !== undefined) onConnect(fromNode.id, on.dataset.id);
    else onDropLink(fromNode.id, screenToFlowPosition({ x: event.clientX, y: event.clientY }));
  };
  const under = (event: MouseEvent): { on: MenuAt["on"]; id: string; at: Point } | null => {
    const target = event.target as HTMLElement;
    const [node, edge] = [target.closest<HTMLElement>(".react-flow__node"), target.closest<HTMLElement>(".react-flow__edge")];
    if (target.closest("button, .react-flow__handle") !== null) return null;
    const at = screenToFlowPosition({ x: event.clientX, y: event.clientY });
    return { on: node ? "node" : edge ? "edge" : "pane", id: (node ?? edge)?.dataset.id ?? "", at };
  };
  return (
    <HandsOf value={hands}>
      <EdgeBoxes value={boxOf}>
        <div
          className="diagram"
          onPointerDownCapture={touch}
          onWheelCapture={touch}
          onKeyDownCapture={touch}
          onDoubleClick={(event) => {
            const place = under(event);
            if (place !== null && editable) onRename(place.on, place.id, place.at);
          }}
          onContextMenu={(event) => {
            const place = under(event);
            if (place === null) return;
            event.preventDefault();
            onMenu({ ...place, x: event.clientX, y: event.clientY });
          }}
        >
          <Heads />
          <ReactFlow<DrawnNode, DrawnEdge>
            nodes={overview ? NO_NODES : shown}
            edges={links}
            nodeTypes={TYPES}
            edgeTypes={LINKS}
            defaultViewport={first}
            onMoveEnd={reportSight}
            onNodesChange={change}
            onEdgesChange={changeEdges}
            onConnect={({ source, target }) => onConnect(source, target)}
            onConnectEnd={dropped}
            onReconnect={(edge, { source, target }) => onReconnect(edge.id, { ...(source === edge.source ? {} : { sourceNodeId: source }), ...(target === edge.target ? {} : { targetNodeId: target }) })}
            edgesReconnectable={editable}
            reconnectRadius={8}
            onSelectionChange={choose}
            onPaneClick={overview ? (event) => nearer(screenToFlowPosition({ x: event.clientX, y: event.clientY })) : undefined}
            nodesDraggable={editable}
            nodesConnectable={editable}
            connectionMode={ConnectionMode.Loose}
            connectionRadius={28}
            elevateNodesOnSelect={false}
            panOnDrag={selecting ? [1] : true}
            selectionOnDrag={selecting}
            zoomOnDoubleClick={false}
            deleteKeyCode={null}
            ariaLabelConfig={HELP}
            onlyRenderVisibleElements
            minZoom={SMALLEST}
            maxZoom={LARGEST_ZOOM}
          >
            <Background gap={20} size={1.2} />
          </ReactFlow>
          {overview ? (
            <Suspense>
              <Overview nodes={shown} edges={lines} />
            </Suspense>
          ) : null}
        </div>
      </EdgeBoxes>
    </HandsOf>
  );
}

const idOf = ({ id }: { id: string }): string => id;

function contains(box: Rect, { x, y }: Point): boolean {
  return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
}

function visibleRects(nodes: readonly DrawnNode[]): Rect[] {
  return nodes.filter((node) => node.hidden !== true).map(rectOf);
}

function withChosen(before: readonly DrawnEdge[], edges: DrawnEdge[]): DrawnEdge[] {
  const chosen = new Set(before.filter((each) => each.selected).map(idOf));
  return chosen.size === 0 ? edges : edges.map((each) => (chosen.has(each.id) ? { ...each, selected: true } : each));
}
