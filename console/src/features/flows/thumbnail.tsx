import { useInViewport } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { get } from "../../api/client";
import type { FlowSummary, FlowView } from "../../api/types";
import { around, placed } from "../../shared/flows/boxes";
import { edgesOf, isGroup, nodesOf, type Rect } from "../../shared/flows/elements";
import { figureOf, shapeOf } from "../../shared/flows/shapes";
import { Icon } from "../../shared/values/icon";

const [WIDTH, HEIGHT, MARGIN] = [96, 48, 4];
/** Of a larger diagram one would see dots only, and it is megabytes. */
const MAX_NODES = 200;

/** What the diagram looks like from far away, fetched when its row is in sight. */
export function Thumbnail({ flow }: { flow: FlowSummary }) {
  const { ref, inViewport } = useInViewport<HTMLSpanElement>();
  const few = flow.nodes_count > 0 && flow.nodes_count <= MAX_NODES;
  const query = useQuery({
    queryKey: ["flow-picture", flow.id, flow.version],
    queryFn: () => get<FlowView>(`/v1/flows/${flow.id}`),
    enabled: few && inViewport,
    staleTime: Infinity,
  });
  return (
    <span ref={ref} className="thumbnail" aria-hidden="true">
      {query.data === undefined ? few ? null : <Icon of={Workflow} /> : <Drawing flow={query.data} />}
    </span>
  );
}

function Drawing({ flow }: { flow: FlowView }) {
  const nodes = nodesOf(flow).filter((node) => node.hidden !== true && !isGroup(node));
  const boxes = placed(flow, nodes);
  const whole = around([...boxes.values()]);
  const scale = Math.min((WIDTH - 2 * MARGIN) / whole.width, (HEIGHT - 2 * MARGIN) / whole.height);
  const middle = (id: string): [number, number] | null => {
    const box = boxes.get(id);
    return box === undefined ? null : [box.x + box.width / 2, box.y + box.height / 2];
  };
  const view = [centered(whole.x, whole.width, WIDTH / scale), centered(whole.y, whole.height, HEIGHT / scale), WIDTH / scale, HEIGHT / scale];
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={view.join(" ")}>
      {edgesOf(flow).map((edge) => {
        const [from, to] = [middle(edge.source), middle(edge.target)];
        return from === null || to === null ? null : <path key={edge.id} d={`M${from.join(" ")}L${to.join(" ")}`} />;
      })}
      {nodes.map((node) => {
        const box: Rect = boxes.get(node.id)!;
        return <path key={node.id} className="box" d={figureOf(shapeOf(node.data?.shape), box.width, box.height).outline} transform={`translate(${box.x} ${box.y})`} />;
      })}
    </svg>
  );
}

function centered(start: number, length: number, room: number): number {
  return start - (room - length) / 2;
}
