import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { follow } from "../src/api/follow";
import { ALL_JOBS, FROM_NOW, type News } from "../src/api/news";
import type { Source } from "../src/api/source";
import type { Slots } from "../src/api/stream-slots";

/** A server whose job has the events that were made, and which counts its streams. */
class Server implements Source {
  made = 0;
  ends = false;
  open = 0;
  pages = 0;
  streamed: number[] = [];
  refused: string[] = [];
  cut = new AbortController();

  since(after: number): News[] {
    return Array.from({ length: Math.max(0, this.made - after) }, (_, index) => {
      const id = after + index + 1;
      return { id, event: { seq: id, job_id: "j", at: "", type: this.ends && id === this.made ? "job_succeeded" : "output" } };
    });
  }

  async *stream(topic: string, after: number, signal: AbortSignal, opened: () => void): AsyncGenerator<readonly News[]> {
    const refusal = this.refused.shift();
    if (refusal !== undefined) throw Object.assign(new Error(refusal), { status: Number(refusal) });
    this.streamed.push(after);
    this.open += 1;
    opened();
    const cut = this.cut.signal;
    try {
      if (topic === ALL_JOBS) yield [{ id: FROM_NOW, reset: true }];
      for (let at = topic === ALL_JOBS ? this.made : after; !signal.aborted && !cut.aborted; ) {
        const items = this.since(at);
        at += items.length;
        if (items.length > 0) yield items;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    } finally {
      this.open -= 1;
    }
  }

  async page(_topic: string, after: number): Promise<{ items: readonly News[]; more: boolean }> {
    this.pages += 1;
    return { items: this.since(after), more: false };
  }
}

/** A number of streams for all tabs, as the locks of a browser give them. */
function slotsOf(count: number): Slots {
  let free = count;
  return async (work) => {
    if (free === 0) return work(false);
    free -= 1;
    try {
      return await work(true);
    } finally {
      free += 1;
    }
  };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe("a topic that is followed", () => {
  let server = new Server();
  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function following(slots: Slots, topic = "j", after = 0): { ids: number[]; states: string[]; stop: () => void } {
    const seen = { ids: [] as number[], states: [] as string[], stop: (): void => undefined };
    const onNews = (items: readonly News[]): void => void seen.ids.push(...items.map(({ id }) => id));
    seen.stop = follow({ topic, after, onNews, onState: (state) => seen.states.push(state), source: server, slots });
    return seen;
  }

  test("is streamed until the job ends, and the stream is closed then", async () => {
    const seen = following(slotsOf(1));
    server.made = 5;
    await vi.advanceTimersByTimeAsync(100);
    expect([seen.ids, server.open]).toEqual([upTo(5), 1]);
    [server.made, server.ends] = [6, true];
    await vi.advanceTimersByTimeAsync(5000);
    expect([seen.ids, server.open, server.streamed]).toEqual([upTo(6), 0, [0]]);
  });

  test("continues where it was after a connection that broke, and says so", async () => {
    const seen = following(slotsOf(1));
    server.made = 3;
    await vi.advanceTimersByTimeAsync(100);
    server.cut.abort();
    await vi.advanceTimersByTimeAsync(50);
    [server.cut, server.refused, server.made] = [new AbortController(), ["503"], 5];
    await vi.advanceTimersByTimeAsync(2500);
    expect(seen.states).toEqual(["live", "reconnecting", "reconnecting", "live"]);
    expect([seen.ids, server.streamed]).toEqual([upTo(5), [0, 3]]);
    seen.stop();
  });

  test("is polled while other tabs have all streams, and streamed once one is free", async () => {
    const slots = slotsOf(4);
    const tabs = upTo(7).map((job) => following(slots, `job-${job}`));
    server.made = 3;
    await vi.advanceTimersByTimeAsync(3000);
    expect([server.open, server.pages]).toEqual([4, 6]);
    tabs[0]!.stop();
    server.made = 4;
    await vi.advanceTimersByTimeAsync(3000);
    expect(server.open).toBe(4);
    [server.made, server.ends] = [5, true];
    await vi.advanceTimersByTimeAsync(3000);
    expect(tabs.map(({ ids }) => ids)).toEqual(upTo(7).map((job) => upTo(job === 1 ? 3 : 5)));
    expect(server.open).toBe(0);
  });

  test("is reported no more once it is left", async () => {
    const seen = following(slotsOf(1));
    await vi.advanceTimersByTimeAsync(50);
    seen.stop();
    server.made = 2;
    await vi.advanceTimersByTimeAsync(5000);
    expect([seen.ids, server.open]).toEqual([[], 0]);
  });

  test("waits for a new key when its own has ended, and gives up what is refused", async () => {
    server.refused = ["401"];
    server.made = 2;
    const seen = following(slotsOf(1));
    await vi.advanceTimersByTimeAsync(4000);
    expect([seen.ids, seen.states]).toEqual([[], ["reconnecting"]]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(seen.ids).toEqual(upTo(2));
    seen.stop();
    await vi.advanceTimersByTimeAsync(100);
    server.refused = ["404"];
    const other = following(slotsOf(1));
    await vi.advanceTimersByTimeAsync(20_000);
    expect([other.ids, server.streamed]).toEqual([[], [0]]);
  });

  test("begins from now when it is the list, and reports a job as often as it changes", async () => {
    const seen = following(slotsOf(1), ALL_JOBS, FROM_NOW);
    await vi.advanceTimersByTimeAsync(50);
    server.made = 2;
    await vi.advanceTimersByTimeAsync(50);
    expect(seen.ids).toEqual([FROM_NOW, 1, 2]);
    server.cut.abort();
    await vi.advanceTimersByTimeAsync(50);
    server.cut = new AbortController();
    await vi.advanceTimersByTimeAsync(1500);
    expect(server.streamed).toEqual([FROM_NOW, 2]);
    seen.stop();
  });
});
