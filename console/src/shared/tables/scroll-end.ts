/** A ref of a part that scrolls: it has the class `end` while nothing is cut at its right edge, which a phone fades. */
export function scrollEnd(part: HTMLElement | null): (() => void) | undefined {
  if (part === null) return undefined;
  const mark = (): void => void part.classList.toggle("end", part.scrollLeft + part.clientWidth >= part.scrollWidth - 2);
  mark();
  part.addEventListener("scroll", mark, { passive: true });
  const sizes = new ResizeObserver(mark);
  sizes.observe(part);
  if (part.firstElementChild !== null) sizes.observe(part.firstElementChild);
  return () => {
    part.removeEventListener("scroll", mark);
    sizes.disconnect();
  };
}
