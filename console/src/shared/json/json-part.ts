import { useEffect, useMemo, useRef, useState } from "react";
import { LARGEST, linesOf, SMALL, Tree, type Ask, type Part } from "./json-lines";

const HEAD_LINES = 500;

/** The requested lines; null until there are some. A large value is worked on by a worker, so that the page stays responsive. */
export function usePart(value: unknown, size: number, ask: Ask): Part | null {
  const [broken, setBroken] = useState(false);
  const here = size <= SMALL || size > LARGEST || broken;
  const tree = useMemo(() => (here ? treeOf(value, size) : null), [here, value, size]);
  const far = useFar(here ? undefined : value, ask, () => setBroken(true));
  return useMemo(() => (tree === null ? far : tree.part(ask)), [tree, far, ask]);
}

/** Of what is too large only the head. */
function treeOf(value: unknown, size: number): Pick<Tree, "part"> {
  if (size <= LARGEST) return new Tree(value);
  return {
    part: ({ closed, from, count }) => {
      const lines = linesOf(value, closed, HEAD_LINES);
      return { from, lines: lines.slice(from, from + count), total: lines.length };
    },
  };
}

function useFar(value: unknown, ask: Ask, onBroken: () => void): Part | null {
  const [part, setPart] = useState<Part | null>(null);
  const worker = useRef<Worker>(null);
  const broken = useRef(onBroken);
  broken.current = onBroken;
  useEffect(() => {
    if (value === undefined) return undefined;
    const made = new Worker(new URL("./json-worker.ts", import.meta.url), { type: "module" });
    made.onmessage = ({ data }: MessageEvent<Part>) => setPart(data);
    made.onerror = () => broken.current();
    made.postMessage({ value });
    worker.current = made;
    return () => {
      made.terminate();
      worker.current = null;
      setPart(null);
    };
  }, [value]);
  useEffect(() => worker.current?.postMessage({ ask }), [value, ask]);
  return part;
}
