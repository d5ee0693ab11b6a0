import { useEffect, useRef } from "react";
import type { Rect } from "../../../shared/flows/elements";

/** Something that is being named or written, where it is. */
export interface Written {
  title: string;
  text: string;
  /** On the canvas, in pixels of the screen. */
  box: Rect;
  onDone: (text: string) => void;
  /** Where the focus goes afterwards. */
  onLeave?: () => void;
}

const NARROWEST = 140;
const WIDEST = 320;

/** A field in the place of what is named: Enter writes it, Shift Enter makes a new line, Escape leaves it as it was. */
export function InlineEditor({ written, onClose }: { written: Written; onClose: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const open = useRef(true);
  const { title, text, box, onDone, onLeave } = written;
  useEffect(() => {
    open.current = true;
    field.current?.focus({ preventScroll: true });
    field.current?.select();
  }, [written]);
  const close = (write: boolean): void => {
    if (!open.current) return; // to leave it takes the focus away, which would write it again
    open.current = false;
    const next = field.current?.value.trim() ?? "";
    onClose();
    if (write && next !== text && (next !== "" || text !== "")) onDone(next);
    onLeave?.();
  };
  const width = Math.min(Math.max(box.width, NARROWEST), WIDEST);
  const height = Math.max(box.height, 34);
  return (
    <textarea
      ref={field}
      className="inline-editor"
      aria-label={title}
      placeholder={title}
      maxLength={10_000}
      defaultValue={text}
      rows={1}
      style={{ left: box.x + (box.width - width) / 2, top: box.y, width, height }}
      onBlur={() => close(true)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") close(false);
        if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        close(true);
      }}
    />
  );
}
