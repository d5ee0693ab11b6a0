import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { get } from "../../api/client";
import type { FlowView } from "../../api/types";
import { canvasLook } from "./canvas/colours";
import type { Operation } from "../../shared/flows/elements";
import { drawn } from "./canvas/merged-graph";
import { leftOf } from "./chat/proposal";
import { useFrame } from "./history/playback";

interface Proposed {
  state: string;
  operations: readonly Operation[];
}

// The same one each time: what is drawn is computed again only when something else is to be drawn.
const NONE: readonly Operation[] = [];

/** What is drawn: the flow as it is, an earlier version with what it changed, or a proposal. */
export function useShown(flow: FlowView, url: Readonly<Record<string, string>>) {
  const past = pastOf(url.version, flow.version);
  const frame = useFrame(flow.id, past);
  const proposal = useQuery({ queryKey: ["proposal", flow.id, url.proposal], queryFn: () => get<Proposed>(`/v1/flows/${flow.id}/proposals/${url.proposal}`), enabled: url.proposal !== undefined });
  const film = past === null ? undefined : frame.data;
  const left = useMemo(() => leftOf(url.without), [url.without]);
  const proposed = past === null && proposal.data?.state === "open" ? proposal.data.operations : NONE;
  const taken = useMemo(() => (left.size === 0 ? proposed : proposed.filter((_, place) => !left.has(place))), [proposed, left]);
  const shown = film?.flow ?? flow;
  const operations = film?.operations ?? taken;
  const before = film?.before;
  const { nodes, edges } = useMemo(() => drawn(shown, operations, before), [shown, operations, before]);
  const look = useMemo(() => canvasLook(shown), [shown]);
  return { past, frame, left, proposed, shown, nodes, edges, look };
}

/** The earlier version that the address names, if it does. */
function pastOf(version: string | undefined, last: number): number | null {
  const number = Number(version);
  return Number.isInteger(number) && number >= 1 && number < last ? number : null;
}
