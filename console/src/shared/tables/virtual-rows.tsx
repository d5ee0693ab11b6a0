import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, type ReactNode } from "react";
import { isTyping, keysAreOn } from "../../app/keys";

interface Props<T> {
  items: readonly T[];
  titles: ReactNode;
  columns: string;
  idOf: (item: T) => string;
  cells: (item: T) => ReactNode;
  label: string;
  chosen?: string | null;
  onOpen: (id: string) => void;
  onEnd?: () => void;
  onPick?: (id: string) => void;
  /** Opens the menu of a row, below its button. */
  onMenu?: (id: string, button: HTMLElement) => void;
  /** Said below the rows, of the first and the last that are in sight, counted from 1. */
  foot?: (first: number, last: number) => ReactNode;
  /** Whether the first row is in sight. */
  onTop?: (top: boolean) => void;
  height?: string;
  /** Of a row, in pixels; a narrower place scrolls sideways. */
  minWidth?: number;
}

/** Many rows, of which only those in sight exist; plain elements and one handler, as library components cost too much. */
export function Rows<T>({ items, titles, columns, idOf, cells, label, chosen, onOpen, onEnd, onPick, onMenu, foot, onTop, height = "calc(100vh - 190px)", minWidth }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const rowHeight = window.matchMedia("(max-width: 767px)").matches ? 44 : 32;
  const virtual = useVirtualizer({ count: items.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 8 });
  const shown = virtual.getVirtualItems();
  const last = shown[shown.length - 1]?.index ?? 0;
  useEffect(() => {
    if (onEnd !== undefined && items.length > 0 && last >= items.length - 5) onEnd();
  }, [last, items.length, onEnd]);
  useRowKeys(scroller, items.map(idOf), (index) => virtual.scrollToIndex(index), onOpen, onPick);
  const click = (event: React.MouseEvent): void => {
    const picked = (event.target as HTMLElement).closest<HTMLElement>("[data-pick]")?.dataset.pick;
    if (picked !== undefined) {
      onPick?.(picked);
      return;
    }
    const menu = (event.target as HTMLElement).closest<HTMLElement>("[data-menu]");
    if (menu !== null) {
      onMenu?.(menu.dataset.menu!, menu);
      return;
    }
    if ((event.target as HTMLElement).closest("a, button, input") !== null) return;
    const id = (event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset.row;
    if (id !== undefined) onOpen(id);
  };
  const range = virtual.range;
  return (
    <>
    <div ref={scroller} className="rows" role="table" aria-label={label} aria-rowcount={items.length} style={{ height }} onClick={click} onScroll={onTop && ((event) => onTop(event.currentTarget.scrollTop < rowHeight))} tabIndex={0}>
      <div role="row" className="row titles" style={{ gridTemplateColumns: columns, minWidth }}>
        {titles}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative", minWidth }}>
        {shown.map((place) => {
          const item = items[place.index]!;
          const id = idOf(item);
          return (
            <div
              key={id}
              role="row"
              className="row"
              data-row={id}
              data-chosen={chosen === id}
              style={{ gridTemplateColumns: columns, minWidth, transform: `translateY(${place.start}px)` }}
            >
              {cells(item)}
            </div>
          );
        })}
      </div>
    </div>
    {foot === undefined || range === null || items.length === 0 ? null : <div className="table-foot">{foot(range.startIndex + 1, Math.min(items.length, range.endIndex + 1))}</div>}
    </>
  );
}

/** j and k move, Enter opens: the row that is chosen is marked, and announced by its own link's focus. */
function useRowKeys(scroller: React.RefObject<HTMLDivElement | null>, ids: readonly string[], show: (index: number) => void, open: (id: string) => void, pick?: (id: string) => void): void {
  const at = useRef(-1);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
      if (step !== 0 && ids.length > 0) {
        at.current = Math.max(0, Math.min(ids.length - 1, at.current + step));
        show(at.current);
        requestAnimationFrame(() => {
          const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(ids[at.current]!)}"]`);
          row?.querySelector<HTMLElement>("a")?.focus({ preventScroll: true });
        });
      } else if (event.key === "x" && at.current >= 0) {
        pick?.(ids[at.current]!);
      } else if (event.key === "Enter" && at.current >= 0 && event.target === document.body) {
        open(ids[at.current]!);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}
