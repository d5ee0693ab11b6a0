export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** The frames of a stream of events until it ends, as many at once as have come. */
export async function* framesOf(answer: Response): AsyncGenerator<Frame[]> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop()!;
    yield parts.flatMap(parse);
  }
}

/** The frame: none for a comment. */
export function parse(text: string): Frame[] {
  const field = (name: string): string[] =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trimStart());
  const data = field("data").join("\n");
  return data === "" ? [] : [{ id: field("id")[0] ?? "", event: field("event")[0] ?? "", data }];
}

export function isEnd(type: string): boolean {
  return /^job_(succeeded|failed|cancelled|dead)$/.test(type);
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
