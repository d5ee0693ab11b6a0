import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { useUrl } from "../../shared/page/url";
import { spanOf, type Span } from "./scale";

const UNMEASURED = 900;
const STILL_MS = 300;

/** The part of the time that is chosen, in seconds of the job. It is written to the address once it is still: a wheel turns faster than an address should change. */
export function useRange(): [Span | null, (range: Span | null) => void] {
  const [url, change] = useUrl();
  const [range, setRange] = useState(() => spanOf(url.zoom));
  const written = range === null ? null : range.map((second) => Number(second.toFixed(3))).join("-");
  useEffect(() => {
    if (written === (url.zoom ?? null)) return undefined;
    const timer = setTimeout(() => change({ zoom: written }), STILL_MS);
    return () => clearTimeout(timer);
  }, [written, url.zoom, change]);
  return [range, setRange];
}

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
