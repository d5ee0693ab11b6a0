import type { Job } from "./types.js";

/** No answer: the server cannot be reached, or the connection broke. */
export class ConnectionError extends Error {
  override name = "ConnectionError";
}

/** The server refused the request with a problem document (RFC 9457). */
export class Problem extends Error {
  override name = "Problem";
  readonly status: number;
  /** Stable: the list is in docs/errors.md. */
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  /** What is wrong with which field. */
  readonly errors: ReadonlyArray<{ loc: Array<string | number>; msg: string }>;
  /** Seconds after which the server wants to be asked again. */
  readonly retryAfter: number | undefined;

  constructor(status: number, body: Record<string, unknown>, headers: Headers) {
    super(text(body["detail"]) || text(body["title"]) || `HTTP status ${status}`);
    this.status = status;
    this.code = text(body["code"]);
    this.title = text(body["title"]);
    this.requestId = text(body["request_id"]) || (headers.get("x-request-id") ?? undefined);
    this.errors = Array.isArray(body["errors"]) ? body["errors"] : [];
    this.retryAfter = secondsOf(headers.get("retry-after"));
  }
}

/** The job ended otherwise than with success; `job.error` says why. */
export class JobFailed extends Error {
  override name = "JobFailed";
  readonly job: Job;

  constructor(job: Job) {
    super(job.error?.detail ?? job.error?.title ?? `the job ended as ${job.state}`);
    this.job = job;
  }
}

/** Return the problem of an answer, whatever its body is. */
export async function problemOf(response: Response): Promise<Problem> {
  const body = await response.text().catch(() => "");
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch {
    fields = undefined;
  }
  const known = typeof fields === "object" && fields !== null && !Array.isArray(fields);
  return new Problem(
    response.status,
    known ? (fields as Record<string, unknown>) : { detail: body.trim().slice(0, 500) },
    response.headers,
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
