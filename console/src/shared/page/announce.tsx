import { useEffect, useRef, useState } from "react";

const APART_MS = 2000;

/** Says one thing in two seconds at most; of what waits meanwhile, the newest about each object, all at once. */
export class Speaker {
  private readonly waiting = new Map<string, string>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private said = -Infinity;

  constructor(private readonly show: (text: string) => void) {}

  say(text: string, about: string): void {
    this.waiting.delete(about); // what is newest comes last
    this.waiting.set(about, text);
    this.timer ??= setTimeout(() => this.speak(), Math.max(0, this.said + APART_MS - Date.now()));
  }

  private speak(): void {
    this.timer = null;
    this.said = Date.now();
    const texts = [...this.waiting.values()];
    this.waiting.clear();
    this.show(texts.join(". "));
  }
}

let show: (text: string) => void = () => undefined;
const speaker = new Speaker((text) => show(text));

/** Announces to screen readers that something has changed: politely, once what is being read is over. */
export function announce(text: string, about = text): void {
  speaker.say(text, about);
}

/** Announces the text whenever it becomes another one; what it is at first is read with the page. */
export function useAnnounced(text: string | null, about: string): void {
  const before = useRef({ text, about });
  useEffect(() => {
    const known = before.current;
    before.current = { text, about };
    if (known.about === about && known.text !== text && text !== null) announce(text, about);
  }, [text, about]);
}

/** The one place of the console that is read out when it changes. */
export function Announcer() {
  const [text, setText] = useState("");
  useEffect(() => {
    show = setText;
    return () => void (show = () => undefined);
  }, []);
  return (
    <div className="unseen" role="status" aria-live="polite">
      {text}
    </div>
  );
}
