import { pause } from "./frames";
import type { Source } from "./source";
import { endsJob, FROM_NOW, type Liveness, type News, type Told } from "./told";

export const BEAT_MS = 5000;
const POLL_MS = 2000;
const RETRY_MS = 1000;

interface Topic {
  name: string;
  /** Up to where it was told. */
  position: number;
  liveness: Liveness;
  /** When each watcher was heard last: a tab that broke down takes no leave. */
  watchers: Map<string, number>;
  stop: AbortController;
}

/** In one tab of a browser: reads what any tab watches, once, and tells all of them. */
export class Leader {
  private readonly topics = new Map<string, Topic>();

  /** `slots` are the streams at once, for a browser keeps few connections to a server; what finds none is polled. */
  constructor(
    private readonly source: Source,
    private readonly tell: (told: Told) => void,
    private slots: number,
    /** The key of this tab has ended: another tab may have a good one. */
    private readonly resign: () => void,
  ) {}

  hear(told: Told): void {
    if (told.kind === "watch") this.join(told.topic, told.by, told.after);
    else if (told.kind === "leave") this.part(told.topic, told.by);
    else if (told.kind === "beat") this.note(told.topic, told.by);
  }

  /** Lets go what nobody watches any more. */
  sweep(): void {
    const oldest = Date.now() - 3 * BEAT_MS;
    for (const topic of this.topics.values()) for (const [by, at] of topic.watchers) if (at < oldest) this.part(topic.name, by);
  }

  close(): void {
    for (const topic of this.topics.values()) topic.stop.abort();
    this.topics.clear();
  }

  private join(name: string, by: string, after: number): void {
    const known = this.topics.get(name);
    if (known !== undefined && known.position <= after) {
      known.watchers.set(by, Date.now());
      this.say(known, known.liveness);
      return;
    }
    // It lacks what was told before it came: read again from there, the others know what they have.
    known?.stop.abort();
    const topic: Topic = { name, position: after, liveness: known?.liveness ?? "live", watchers: new Map(known?.watchers).set(by, Date.now()), stop: new AbortController() };
    this.topics.set(name, topic);
    void this.follow(topic);
  }

  private part(name: string, by: string): void {
    const topic = this.topics.get(name);
    if (topic === undefined || !topic.watchers.delete(by) || topic.watchers.size > 0) return;
    topic.stop.abort();
    this.topics.delete(name);
  }

  private note(name: string, by: string): void {
    const topic = this.topics.get(name);
    if (topic === undefined || !topic.watchers.has(by)) {
      this.tell({ kind: "who" });
      return;
    }
    topic.watchers.set(by, Date.now());
    this.say(topic, topic.liveness);
  }

  private async follow(topic: Topic): Promise<void> {
    const { signal } = topic.stop;
    while (!signal.aborted) {
      try {
        if (this.slots > 0 ? await this.stream(topic) : await this.poll(topic)) {
          if (this.topics.get(topic.name) === topic) this.topics.delete(topic.name);
          return;
        }
      } catch (error) {
        if (signal.aborted) return;
        const status = error instanceof Error && "status" in error ? Number(error.status) : 0;
        if (status === 401) return this.resign();
        if (status === 403 || status === 404) return; // asked again it would be refused again
        this.say(topic, "reconnecting");
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** Streams until the end or until the connection breaks. */
  private async stream(topic: Topic): Promise<boolean> {
    this.slots -= 1;
    try {
      const { signal } = topic.stop;
      for await (const items of this.source.stream(topic.name, topic.position, signal, () => this.say(topic, "live"))) {
        if (signal.aborted) return false;
        if (this.take(topic, items)) return true;
      }
    } finally {
      this.slots += 1;
    }
    throw new Error("the stream broke off");
  }

  /** What there is, and a pause when that is all for now. */
  private async poll(topic: Topic): Promise<boolean> {
    const { signal } = topic.stop;
    const { items, more } = await this.source.page(topic.name, topic.position, signal);
    if (signal.aborted) return false;
    this.say(topic, "live");
    const ended = this.take(topic, items);
    if (!ended && !more) await pause(POLL_MS, signal);
    return ended;
  }

  private take(topic: Topic, items: readonly News[]): boolean {
    if (items.length === 0) return false;
    const after = topic.position;
    const last = Math.max(...items.map(({ id }) => id));
    topic.position = after === FROM_NOW ? last : Math.max(after, last);
    this.tell({ kind: "news", topic: topic.name, after, upto: topic.position, items });
    return items.some(endsJob);
  }

  private say(topic: Topic, liveness: Liveness): void {
    topic.liveness = liveness;
    this.tell({ kind: "state", topic: topic.name, liveness });
  }
}
