/**
 * Give the focus back to a control that was disabled while it worked: a browser drops the focus of a disabled control, and who works
 * by keys would start again at the top of the page. The focus stays where the user has moved it meanwhile.
 */
export function keepFocus(): () => void {
  let last: EventTarget | null = null; // the control that was focused last
  let dropped: HTMLElement | null = null;
  const focused = ({ target }: FocusEvent): void => {
    last = target;
    dropped = null;
  };
  const observer = new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (!(target instanceof HTMLElement)) continue;
      if (target.hasAttribute("disabled")) {
        if (target === last && isFree(target)) dropped = target;
      } else if (target === dropped) {
        dropped = null;
        if (isFree(target)) target.focus({ preventScroll: true });
      }
    }
  });
  document.addEventListener("focusin", focused);
  observer.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    document.removeEventListener("focusin", focused);
    observer.disconnect();
  };
}

/** Return whether nothing but this control has the focus. */
function isFree(control: HTMLElement): boolean {
  return document.activeElement === null || document.activeElement === document.body || document.activeElement === control;
}
