/** Requests that are sent again where that may help. */

import { ConnectionError, type Problem, problemOf } from "./errors.js";

const FIRST_PAUSE = 0.5;
const MAX_PAUSE = 8;
/** A server that wants us later than this many seconds gets its wish: the error, with `retryAfter`. */
const MAX_WISH = 30;
/** Waiting does not make these better. */
const HOPELESS = new Set(["no_provider_configured", "language_unavailable", "sandbox_unavailable", "quota_exceeded"]);

export interface Target {
  url: string;
  apiKey: string;
  timeout: number;
  maxRetries: number;
  fetch: typeof fetch;
}

export interface Call {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Seconds that the server may hold the answer, beyond the time-out. */
  held?: number;
}

/** Send a call. A POST carries one `Idempotency-Key` for all attempts: a lost answer does not become a second job. */
export async function request(target: Target, call: Call): Promise<Response> {
  const headers = headersOf(target, call);
  for (let attempt = 0; ; attempt++) {
    const outcome = await sent(target, call, headers);
    if (outcome instanceof Response && outcome.ok) return outcome;
    const fault = outcome instanceof Response ? await problemOf(outcome) : outcome;
    const pause = attempt < target.maxRetries ? pauseBefore(fault, attempt) : undefined;
    if (pause === undefined) throw fault;
    await sleep(pause, call.signal);
  }
}

function headersOf(target: Target, call: Call): Headers {
  const headers = new Headers({ Accept: "application/json", Authorization: `Bearer ${target.apiKey}` });
  if (call.body !== undefined) headers.set("Content-Type", "application/json");
  if (call.method === "POST") headers.set("Idempotency-Key", crypto.randomUUID());
  for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, value);
  return headers;
}

async function sent(target: Target, call: Call, headers: Headers): Promise<Response | ConnectionError> {
  const url = new URL(target.url + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const late = AbortSignal.timeout((target.timeout + (call.held ?? 0)) * 1000);
  const stops = call.signal === undefined ? late : AbortSignal.any([late, call.signal]);
  const options: RequestInit = { method: call.method, headers, signal: stops, redirect: "manual" };
  if (call.body !== undefined) options.body = JSON.stringify(call.body);
  try {
    const response = await target.fetch(url, options);
    // The body belongs to the exchange: a connection that breaks in it is tried again, too.
    return new Response(response.status === 204 ? null : await response.arrayBuffer(), response);
  } catch (fault) {
    call.signal?.throwIfAborted();
    const why = late.aborted ? "the server did not answer in time" : `the server cannot be reached: ${causeOf(fault)}`;
    return new ConnectionError(why, { cause: fault });
  }
}

/** Return the pause before the next attempt, in seconds; `undefined` for no further attempt. */
export function pauseBefore(fault: Problem | ConnectionError, attempt: number): number | undefined {
  if (fault instanceof ConnectionError) return backoff(attempt);
  const inFlight = fault.status === 409 && fault.code === "request_in_flight";
  const busy = fault.status === 408 || fault.status === 429 || fault.status >= 500;
  if (!inFlight && (!busy || HOPELESS.has(fault.code))) return undefined;
  const wish = fault.retryAfter;
  if (wish === undefined) return backoff(attempt);
  return wish <= MAX_WISH ? Math.max(wish, 0.05) : undefined;
}

/** Doubling pauses, up to a quarter shorter by chance. */
export function backoff(attempt: number): number {
  return Math.min(FIRST_PAUSE * 2 ** attempt, MAX_PAUSE) * (0.75 + Math.random() / 4);
}

export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Return the innermost reason: `fetch failed` alone says nothing. */
export function causeOf(fault: unknown): string {
  let inner = fault;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return inner instanceof Error ? inner.message : String(inner);
}
