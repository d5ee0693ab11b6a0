import { X } from "lucide-react";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { Icon } from "../values/icon";
import { StateShape } from "../values/marks";

interface Toast {
  /** Red stays until it is closed. */
  color?: "red" | "yellow";
  title?: string;
  message: string;
  action?: { name: string; go: () => void };
}

type Shown = Toast & { id: number };

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;
let shown: readonly Shown[] = [];
let last = 0;
const watchers = new Set<() => void>();

function keep(next: readonly Shown[]): void {
  shown = next;
  watchers.forEach((changed) => changed());
}

/** Show a line about something that the page itself does not show, such as a copied ID. */
export function toast(what: Toast): void {
  last += 1;
  keep([...shown, { ...what, id: last }].slice(-MAX_SHOWN));
}

const close = (id: number): void => keep(shown.filter((each) => each.id !== id));

/** The lines at the bottom right, the newest last. */
export function Toasts() {
  const all = useSyncExternalStore(
    (changed) => {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
    () => shown,
  );
  return (
    <div className="toasts">
      {all.map((each) => (
        <Line key={each.id} of={each} />
      ))}
    </div>
  );
}

function Line({ of }: { of: Shown }) {
  const stays = of.color === "red";
  const pointed = useRef(false);
  useEffect(() => {
    if (stays) return undefined;
    const timer = setInterval(() => {
      if (!pointed.current) close(of.id);
    }, SHOWN_MS);
    return () => clearInterval(timer);
  }, [of.id, stays]);
  return (
    <div className="toast" role={stays ? "alert" : "status"} onPointerEnter={() => (pointed.current = true)} onPointerLeave={() => (pointed.current = false)}>
      <span className={`state ${stays ? "bad" : of.color === "yellow" ? "warn" : "good"}`}>
        <StateShape icon={stays ? "cross" : of.color === "yellow" ? "triangle" : "check"} size={16} />
      </span>
      <span className="words">
        {of.title === undefined ? null : <b>{of.title}. </b>}
        {of.message}
      </span>
      {of.action === undefined ? null : (
        <button
          type="button"
          className="link"
          onClick={() => {
            of.action?.go();
            close(of.id);
          }}
        >
          {of.action.name}
        </button>
      )}
      <button type="button" className="icon-button" aria-label="Close" onClick={() => close(of.id)}>
        <Icon of={X} size={14} />
      </button>
    </div>
  );
}
