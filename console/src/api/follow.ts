import { pause } from "./frames";
import { ALL_JOBS, endsJob, FROM_NOW, type Liveness, type News } from "./news";
import { SERVER, type Source } from "./source";
import { withSlot, type Slots } from "./stream-slots";

const POLL_MS = 2000;
const RETRY_MS = 1000;
const SIGNED_OUT_MS = 5000;

interface Options {
  topic: string;
  after: number;
  onNews: (items: readonly News[]) => void;
  onState: (liveness: Liveness) => void;
  source?: Source;
  slots?: Slots;
}

/** Reports each news after that place once and in order, by a stream or by polling, until the job ends or the answer is called. */
export function follow(options: Options): () => void {
  const stop = new AbortController();
  void new Follower(options, stop.signal).run();
  return () => stop.abort();
}

class Follower {
  private readonly source: Source;
  private readonly slots: Slots;
  private position: number;

  constructor(
    private readonly options: Options,
    private readonly signal: AbortSignal,
  ) {
    this.source = options.source ?? SERVER;
    this.slots = options.slots ?? withSlot;
    this.position = options.after;
  }

  async run(): Promise<void> {
    while (!this.signal.aborted) {
      try {
        if (await this.slots((hasStream) => (hasStream ? this.stream() : this.poll()))) return;
      } catch (error) {
        if (this.signal.aborted) return;
        const status = error instanceof Error && "status" in error ? Number(error.status) : 0;
        if (status === 403 || status === 404) return; // it would be refused again
        this.options.onState("reconnecting");
        await pause(status === 401 ? SIGNED_OUT_MS : RETRY_MS, this.signal);
      }
    }
  }

  /** Streams until the job's end; true then. */
  private async stream(): Promise<boolean> {
    const opened = (): void => this.options.onState("live");
    for await (const items of this.source.stream(this.options.topic, this.position, this.signal, opened)) if (this.take(items)) return true;
    throw new Error("the stream broke off");
  }

  /** Reads what there is, and pauses when that is all for now; true at the job's end. */
  private async poll(): Promise<boolean> {
    const { items, more } = await this.source.page(this.options.topic, this.position, this.signal);
    this.options.onState("live");
    const ended = this.take(items);
    if (!ended && !more) await pause(POLL_MS, this.signal);
    return ended;
  }

  /** A job of the list may come again, as it is then; of a job's events only new ones are reported. */
  private take(items: readonly News[]): boolean {
    this.signal.throwIfAborted();
    const fresh = this.options.topic === ALL_JOBS ? items : items.filter(({ id }) => id > this.position);
    if (fresh.length === 0) return false;
    const last = Math.max(...fresh.map(({ id }) => id));
    this.position = this.position === FROM_NOW ? last : Math.max(this.position, last);
    this.options.onNews(fresh);
    return fresh.some(endsJob);
  }
}
