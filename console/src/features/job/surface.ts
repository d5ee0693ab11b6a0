import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

const UNMEASURED = 900;

/** The width of an element, in pixels. */
export function useWidth(): [RefObject<SVGSVGElement | null>, number] {
  const place = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(UNMEASURED);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const measure = (): void => setWidth(Math.max(1, Math.round(element.getBoundingClientRect().width)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

/** Turning the wheel over the lanes, with Ctrl or once the figure has the focus: at which share of the width, and by which factor. */
export function useWheel(turned: (share: number, factor: number) => void): RefObject<HTMLElement | null> {
  const figure = useRef<HTMLElement>(null);
  const latest = useRef(turned);
  latest.current = turned;
  useEffect(() => {
    const element = figure.current;
    // Not by React's onWheel, which cannot keep the page from scrolling.
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey && document.activeElement !== element) return;
      event.preventDefault();
      const box = element!.querySelector("svg")!.getBoundingClientRect();
      latest.current(Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1), event.deltaY < 0 ? 0.8 : 1.25);
    };
    element?.addEventListener("wheel", turn, { passive: false });
    return () => element?.removeEventListener("wheel", turn);
  }, []);
  return figure;
}
