import { JobFailed } from "./errors.js";
import { events } from "./events.js";
import { type Call, request, type Target } from "./requests.js";
import type { InputOf, Job, JobEvent, Kind, Order, ResultOf } from "./types.js";

/** The most that the server holds one answer, in seconds. */
const MAX_HELD = 60;
const ENDED = new Set<Job["state"]>(["succeeded", "failed", "cancelled", "dead"]);

export interface AssayOptions {
  /** The server; by default `ASSAY_URL`, else `http://127.0.0.1:8000`. */
  url?: string;
  /** By default `ASSAY_API_KEY`. */
  apiKey?: string;
  /** Seconds without an answer; 30 by default. */
  timeout?: number;
  /** Attempts after the first; 2 by default. */
  maxRetries?: number;
  fetch?: typeof fetch;
}

/** What a submit accepts besides kind and input: `budget`, `labels`, `priority`, `webhook` ... */
export type SubmitOptions = Partial<Omit<Order, "kind" | "input">> & {
  /** The same key and body give the same job, for 24 hours; by default each submit has a new one. */
  idempotencyKey?: string;
  signal?: AbortSignal;
};

export interface WaitOptions {
  /** Seconds to wait; without it until the job ends. */
  seconds?: number;
  signal?: AbortSignal;
}

/** One server, and the key to show it. */
export class Assay {
  readonly #target: Target;

  constructor(options: AssayOptions = {}) {
    const env = (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env ?? {};
    this.#target = {
      url: address(options.url ?? env["ASSAY_URL"] ?? "http://127.0.0.1:8000"),
      apiKey: (options.apiKey ?? env["ASSAY_API_KEY"] ?? "").trim(),
      timeout: options.timeout ?? 30,
      maxRetries: options.maxRetries ?? 2,
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
    };
    if (!/^[!-~]+$/.test(this.#target.apiKey)) {
      throw new TypeError("Give `apiKey`, or set ASSAY_API_KEY: letters and digits, as `assay status -o env` prints it.");
    }
  }

  /** Submit a job, wait for its end, and return its result. Throws `JobFailed` when it ends otherwise. */
  async run<K extends Kind>(kind: K, input: InputOf<K>, options: SubmitOptions = {}): Promise<ResultOf<K>> {
    const { idempotencyKey, signal, ...more } = options;
    const first = await this.#submit(kind, input, more, idempotencyKey, signal, MAX_HELD);
    const job = await this.#ended(first, signal === undefined ? {} : { signal });
    if (job.state !== "succeeded") throw new JobFailed(job);
    return job.result as ResultOf<K>;
  }

  /** Submit a job and return it at once. */
  submit<K extends Kind>(kind: K, input: InputOf<K>, options: SubmitOptions = {}): Promise<Job> {
    const { idempotencyKey, signal, ...more } = options;
    return this.#submit(kind, input, more, idempotencyKey, signal, 0);
  }

  job(id: string, options: { signal?: AbortSignal } = {}): Promise<Job> {
    return this.call<Job>({ method: "GET", path: jobPath(id), signal: options.signal });
  }

  /** Return the job when it has ended, or as it is after `seconds`. */
  async wait(id: string, options: WaitOptions = {}): Promise<Job> {
    return this.#ended(await this.job(id, options), options);
  }

  /** Yield the job's events from the first, or from the one behind `after`, to its end; goes on after broken connections. */
  events(id: string, options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<JobEvent, void, undefined> {
    return events(this.#target, id, options.after ?? 0, options.signal);
  }

  cancel(id: string): Promise<Job> {
    return this.call<Job>({ method: "POST", path: `${jobPath(id)}/cancel` });
  }

  /** Call any operation; its types are in `paths` and `components`. Throws `Problem`, `ConnectionError`. */
  async call<Answer = unknown>(call: Call): Promise<Answer> {
    const response = await request(this.#target, call);
    const body = await response.text();
    return (body === "" ? undefined : JSON.parse(body)) as Answer;
  }

  #submit(
    kind: Kind,
    input: unknown,
    more: object,
    idempotencyKey: string | undefined,
    signal: AbortSignal | undefined,
    held: number,
  ): Promise<Job> {
    const headers: Record<string, string> = {};
    if (held > 0) headers["Prefer"] = `wait=${held}`;
    if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
    return this.call<Job>({ method: "POST", path: "/v1/jobs", body: { kind, input, ...more }, headers, held, signal });
  }

  async #ended(job: Job, options: WaitOptions): Promise<Job> {
    const ends = Date.now() + (options.seconds ?? Number.POSITIVE_INFINITY) * 1000;
    let current = job;
    while (!ENDED.has(current.state)) {
      const held = Math.min(MAX_HELD, Math.max(0, Math.floor((ends - Date.now()) / 1000)));
      if (held === 0) return current;
      current = await this.call<Job>({
        method: "GET",
        path: jobPath(job.id),
        headers: { Prefer: `wait=${held}` },
        held,
        signal: options.signal,
      });
    }
    return current;
  }
}

function jobPath(id: string): string {
  return `/v1/jobs/${encodeURIComponent(id)}`;
}

function address(url: string): string {
  const trimmed = url.trim().replace(/\/+$/, "");
  if (!/^https?:\/\/[^\s/]/.test(trimmed)) {
    throw new TypeError(`The server's address ${JSON.stringify(url)} has to begin with http:// or https://.`);
  }
  return trimmed;
}
