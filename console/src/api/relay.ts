import { pause } from "./frames";
import { BEAT_MS, Leader } from "./leader";
import { SERVER, type Source } from "./source";
import { ALL_JOBS, endsJob, FROM_NOW, type Liveness, type News, type Told } from "./told";
import { newUuid } from "./uuid";

// A browser keeps six connections to a server, all tabs together: so many are streams, one more follows a flow, the others are for requests.
const STREAMS = 3;

/** How tabs reach each other and agree on one of them. */
export interface Tabs {
  /** Posts to the other tabs; null where a browser has no way to agree on a leader: then each reads for itself, and polls. */
  open: (hear: (told: Told) => void) => { post: (told: Told) => void; close: () => void } | null;
  /** Does the work once no other tab does such; until the signal. */
  lead: (signal: AbortSignal, work: () => Promise<void>) => Promise<void>;
}

interface Watcher {
  topic: string;
  by: string;
  /** Up to where it was told. */
  last: number;
  heardAt: number;
  askedAt: number;
  onNews: (items: readonly News[]) => void;
  onState: (liveness: Liveness) => void;
}

/** This tab's part among the tabs of a tenant: it watches, and one tab of all leads. */
export class Relay {
  private readonly watchers = new Set<Watcher>();
  private channel: ReturnType<Tabs["open"]> = null;
  private leader: Leader | null = null;
  private stop = new AbortController();

  constructor(
    private readonly tabs: Tabs,
    private readonly source: Source = SERVER,
  ) {}

  /** From there on, each news once and in order, until the job ends or the answer is called. */
  watch(topic: string, after: number, onNews: Watcher["onNews"], onState: Watcher["onState"]): () => void {
    const watcher: Watcher = { topic, by: newUuid(), last: after, heardAt: Date.now(), askedAt: 0, onNews, onState };
    this.watchers.add(watcher);
    if (this.watchers.size === 1) this.begin();
    this.ask(watcher);
    return () => this.drop(watcher);
  }

  private drop(watcher: Watcher): void {
    if (!this.watchers.delete(watcher)) return;
    this.send({ kind: "leave", topic: watcher.topic, by: watcher.by });
    if (this.watchers.size === 0) this.end();
  }

  private begin(): void {
    const stop = new AbortController();
    this.stop = stop;
    this.channel = this.tabs.open((told) => this.hear(told));
    const beat = setInterval(() => this.beat(), BEAT_MS);
    stop.signal.addEventListener("abort", () => clearInterval(beat));
    void this.lead(stop.signal, this.channel === null ? 0 : STREAMS);
  }

  private end(): void {
    this.stop.abort();
    this.channel?.close();
    this.channel = null;
  }

  private async lead(signal: AbortSignal, streams: number): Promise<void> {
    while (!signal.aborted) {
      await this.tabs.lead(signal, () => this.serve(signal, streams));
      await pause(BEAT_MS, signal); // it resigned: another one first
    }
  }

  private serve(signal: AbortSignal, streams: number): Promise<void> {
    return new Promise((resolve) => {
      const leader = new Leader(this.source, (told) => this.send(told), streams, () => end());
      const end = (): void => {
        leader.close();
        if (this.leader === leader) this.leader = null;
        resolve();
      };
      signal.addEventListener("abort", end);
      if (signal.aborted) return end();
      this.leader = leader;
      this.send({ kind: "who" });
    });
  }

  private send(told: Told): void {
    this.channel?.post(told);
    this.hear(told);
  }

  private hear(told: Told): void {
    this.leader?.hear(told);
    for (const watcher of [...this.watchers]) {
      if (told.kind === "who") this.ask(watcher);
      else if (told.kind === "state" && told.topic === watcher.topic) {
        watcher.heardAt = Date.now();
        watcher.onState(told.liveness);
      } else if (told.kind === "news" && told.topic === watcher.topic) {
        watcher.heardAt = Date.now();
        if (told.after > watcher.last) this.askOnce(watcher);
        else this.take(watcher, told.items, told.upto);
      }
    }
  }

  private ask(watcher: Watcher): void {
    watcher.askedAt = Date.now();
    this.send({ kind: "watch", topic: watcher.topic, by: watcher.by, after: watcher.last });
  }

  /** It lacks what was before: but what was on its way while it asked is no reason to ask again. */
  private askOnce(watcher: Watcher): void {
    if (Date.now() - watcher.askedAt > 1000) this.ask(watcher);
  }

  private beat(): void {
    this.leader?.sweep();
    for (const watcher of [...this.watchers]) {
      if (Date.now() - watcher.heardAt > 2 * BEAT_MS) void this.poll(watcher);
      this.send({ kind: "beat", topic: watcher.topic, by: watcher.by });
    }
  }

  /** Nobody answers: see for oneself. */
  private async poll(watcher: Watcher): Promise<void> {
    try {
      const { items } = await this.source.page(watcher.topic, watcher.last, this.stop.signal);
      if (!this.watchers.has(watcher)) return;
      watcher.onState("live");
      this.take(watcher, items, Math.max(watcher.last, ...items.map(({ id }) => id)));
    } catch {
      if (this.watchers.has(watcher)) watcher.onState("reconnecting");
    }
  }

  /** Those that it does not have; a job of the list may come again, as it is then. */
  private take(watcher: Watcher, items: readonly News[], upto: number): void {
    const fresh = watcher.topic === ALL_JOBS ? items : items.filter(({ id }) => id > watcher.last);
    watcher.last = watcher.last === FROM_NOW ? upto : Math.max(watcher.last, upto);
    if (fresh.length === 0) return;
    watcher.onNews(fresh);
    if (fresh.some(endsJob)) this.drop(watcher);
  }
}

const relays = new Map<string, Relay>();

/** The part of this tab among those of the tenant. */
export function relayOf(tenant: string): Relay {
  const relay = relays.get(tenant) ?? new Relay(browserTabs(`assay-streams-${tenant}`));
  relays.set(tenant, relay);
  return relay;
}

function browserTabs(name: string): Tabs {
  if (!("locks" in navigator)) return { open: () => null, lead: (_signal, work) => work() };
  return {
    open: (hear) => {
      const channel = new BroadcastChannel(name);
      channel.onmessage = (message: MessageEvent<Told>) => hear(message.data);
      return { post: (told) => channel.postMessage(told), close: () => channel.close() };
    },
    lead: async (signal, work) => {
      try {
        await navigator.locks.request(name, { signal }, work);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}
