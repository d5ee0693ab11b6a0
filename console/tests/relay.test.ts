import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BEAT_MS } from "../src/api/leader";
import { Relay, type Tabs } from "../src/api/relay";
import type { Source } from "../src/api/source";
import { ALL_JOBS, FROM_NOW, type News, type Told } from "../src/api/told";

/** Tabs of one browser: what is posted comes to the others a moment later, and the first that asked leads. */
class Browser {
  private readonly heard = new Set<(told: Told) => void>();
  private line: Promise<void> = Promise.resolve();
  silent = false;

  tab(): Tabs {
    return {
      open: (hear) => {
        this.heard.add(hear);
        const post = (told: Told): void => {
          for (const other of this.heard) if (other !== hear) setTimeout(() => this.heard.has(other) && other(told), 1);
        };
        return { post: (told) => (this.silent ? undefined : post(told)), close: () => this.heard.delete(hear) };
      },
      lead: (signal, work) => (this.line = this.line.then(() => (signal.aborted ? undefined : work()))),
    };
  }
}

/** A server whose job has so many events as were made, and which counts its streams. */
class Server implements Source {
  made = 0;
  ends = false;
  open = 0;
  pages = 0;
  streamed: number[] = [];
  refused: string[] = [];

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
    try {
      if (topic === ALL_JOBS) yield [{ id: FROM_NOW, reset: true }];
      for (let at = topic === ALL_JOBS ? this.made : after; !signal.aborted; ) {
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

function watching(relay: Relay, topic = "j", after = 0): { ids: number[]; states: string[]; stop: () => void } {
  const seen = { ids: [] as number[], states: [] as string[], stop: (): void => undefined };
  seen.stop = relay.watch(topic, after, (items) => seen.ids.push(...items.map(({ id }) => id)), (state) => seen.states.push(state));
  return seen;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

describe("tabs of one browser", () => {
  let [browser, server] = [new Browser(), new Server()];
  const tab = (): Relay => new Relay(browser.tab(), server);
  beforeEach(() => {
    vi.useFakeTimers();
    [browser, server] = [new Browser(), new Server()];
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("share one stream of a job, and who comes later gets what was before", async () => {
    const first = watching(tab());
    server.made = 5;
    await vi.advanceTimersByTimeAsync(100);
    const second = watching(tab());
    server.made = 7;
    await vi.advanceTimersByTimeAsync(100);
    expect([first.ids, second.ids]).toEqual([upTo(7), upTo(7)]);
    expect(server.open).toBe(1);
    first.stop();
    second.stop();
  });

  test("lose nothing and get nothing twice when the leading one is closed in the middle", async () => {
    const [leading, ...others] = [watching(tab()), watching(tab()), watching(tab())];
    server.made = 4;
    await vi.advanceTimersByTimeAsync(100);
    server.made = 9;
    leading!.stop();
    await vi.advanceTimersByTimeAsync(100);
    server.made = 12;
    await vi.advanceTimersByTimeAsync(100);
    expect(others.map(({ ids }) => ids)).toEqual([upTo(12), upTo(12)]);
    expect(server.streamed.at(-1)).toBe(4);
    expect(server.open).toBe(1);
    others.forEach(({ stop }) => stop());
    await vi.advanceTimersByTimeAsync(100);
    expect(server.open).toBe(0);
  });

  test("stream three topics at most and poll the others", async () => {
    const seen = upTo(7).map((job) => watching(tab(), `job-${job}`));
    server.made = 3;
    await vi.advanceTimersByTimeAsync(3000);
    expect(server.open).toBe(3);
    expect(seen.map(({ ids }) => ids)).toEqual(upTo(7).map(() => upTo(3)));
    [server.made, server.ends] = [4, true];
    await vi.advanceTimersByTimeAsync(3000);
    expect(seen.map(({ ids }) => ids)).toEqual(upTo(7).map(() => upTo(4)));
    expect(server.open).toBe(0);
    seen.forEach(({ stop }) => stop());
  });

  test("see for themselves when nobody answers", async () => {
    const first = watching(tab());
    await vi.advanceTimersByTimeAsync(50);
    browser.silent = true;
    const second = watching(tab());
    server.made = 2;
    await vi.advanceTimersByTimeAsync(4 * BEAT_MS);
    expect(second.ids).toEqual(upTo(2));
    expect(server.pages).toBeGreaterThan(0);
    first.stop();
    second.stop();
  });

  test("let another lead when the key of the leading one has ended", async () => {
    server.refused = ["401"];
    const [first, second] = [watching(tab()), watching(tab())];
    server.made = 2;
    await vi.advanceTimersByTimeAsync(100);
    expect([first.ids, second.ids]).toEqual([upTo(2), upTo(2)]);
    first.stop();
    second.stop();
  });

  test("go on after a connection that broke, and say so", async () => {
    server.refused = ["503"];
    const only = watching(tab());
    server.made = 3;
    await vi.advanceTimersByTimeAsync(1500);
    expect(only.states.slice(-2)).toEqual(["reconnecting", "live"]);
    expect(only.ids).toEqual(upTo(3));
    only.stop();
  });

  test("without a way to agree each polls for itself", async () => {
    const alone: Tabs = { open: () => null, lead: (_signal, work) => work() };
    const only = watching(new Relay(alone, server));
    server.made = 3;
    await vi.advanceTimersByTimeAsync(3000);
    expect([only.ids, server.open]).toEqual([upTo(3), 0]);
    only.stop();
  });

  test("the list begins anew for all when its stream is opened, from now on", async () => {
    const only = watching(tab(), ALL_JOBS, FROM_NOW);
    await vi.advanceTimersByTimeAsync(50);
    server.made = 2;
    await vi.advanceTimersByTimeAsync(50);
    expect(only.ids).toEqual([FROM_NOW, 1, 2]);
    only.stop();
  });
});
