import { useQuery, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { get } from "../../../api/client";
import type { FlowView } from "../../../api/types";
import type { Operation } from "../../../shared/flows/elements";

/** A version with what it changed; the one before it where something was there that is gone or otherwise now. */
export interface Frame {
  version: number;
  flow: FlowView;
  before: FlowView | null;
  operations: readonly Operation[];
}

export const SPEEDS = ["1", "2", "4"] as const; // versions a second

const KEPT_MS = 60_000;

async function read(id: string, version: number): Promise<Frame> {
  const base = `/v1/flows/${id}`;
  const [flow, operations] = await Promise.all([
    get<FlowView>(`${base}/versions/${version}`),
    // The first version, and the oldest that is kept, have none before them.
    version === 1 ? [] : get<{ operations: Operation[] }>(`${base}/diff`, { from: version - 1, to: version }).then((diff) => diff.operations, () => []),
  ]);
  const differs = operations.some((each) => each.op !== "add");
  return { version, flow, operations, before: differs ? await get<FlowView>(`${base}/versions/${version - 1}`) : null };
}

const frameQuery = (id: string, version: number) => ({ queryKey: ["flow-frame", id, version], queryFn: () => read(id, version), staleTime: Infinity, gcTime: KEPT_MS });

/** The frame of an earlier version; until it is there the last one stays, so that nothing flickers. */
export function useFrame(id: string, version: number | null) {
  return useQuery({ ...frameQuery(id, version ?? 0), enabled: version !== null, placeholderData: (before?: Frame) => before });
}

export function fetchAhead(client: QueryClient, id: string, version: number): void {
  void client.prefetchQuery(frameQuery(id, version));
}

/** Where the film goes from a version: the next one, or the present when that is next. */
export function after(at: number, last: number): number | null {
  return at + 1 >= last ? null : at + 1;
}

interface Film {
  at: number | null;
  last: number;
  speed: number;
  ready: boolean;
  go: (version: number | null) => void;
}

/** Plays the versions one after another: none before it is there, from the first when the present is shown. */
export function usePlayer({ at, last, speed, ready, go }: Film): { playing: boolean; toggle: () => void; stop: () => void } {
  const [playing, setPlaying] = useState(false);
  const show = useRef(go);
  show.current = go;
  useEffect(() => {
    if (!playing || at === null || !ready) return undefined;
    const timer = setTimeout(() => {
      const next = after(at, last);
      if (next === null) setPlaying(false);
      show.current(next);
    }, 1000 / speed);
    return () => clearTimeout(timer);
  }, [playing, at, last, speed, ready]);
  const toggle = (): void => {
    if (!playing && at === null) go(1);
    setPlaying(!playing);
  };
  return { playing, toggle, stop: () => setPlaying(false) };
}
