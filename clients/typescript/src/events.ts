/** The events of a job, as a stream that goes on where a broken connection left off. */

import { ConnectionError, problemOf } from "./errors.js";
import { backoff, causeOf, pauseBefore, sleep, type Target } from "./requests.js";
import type { JobEvent } from "./types.js";

/** The server sends a comment every 15 s: what is silent for longer than this many seconds is broken. */
const MAX_SILENCE = 45;
const TERMINAL = new Set(["job_succeeded", "job_failed", "job_cancelled", "job_dead"]);

/** Yield each event once, from the one behind `after` to the job's end. */
export async function* events(
  target: Target,
  jobId: string,
  after: number,
  signal?: AbortSignal,
): AsyncGenerator<JobEvent, void, undefined> {
  let seen = after;
  for (let failures = 0; ; ) {
    try {
      for await (const event of connection(target, jobId, seen, signal)) {
        failures = 0;
        if (event.seq <= seen) continue;
        seen = event.seq;
        yield event;
        if (TERMINAL.has(event.type)) return;
      }
      return; // the server ends the stream when there is nothing more to come
    } catch (fault) {
      signal?.throwIfAborted();
      if (!(fault instanceof ConnectionError) || failures >= Math.max(target.maxRetries, 1) + 3) throw fault;
      await sleep(backoff(failures++), signal);
    }
  }
}

async function* connection(target: Target, jobId: string, after: number, signal?: AbortSignal): AsyncGenerator<JobEvent> {
  const silent = new AbortController();
  const headers = {
    Accept: "text/event-stream",
    Authorization: `Bearer ${target.apiKey}`,
    "Last-Event-ID": String(after),
  };
  let timer = setTimeout(() => silent.abort(), MAX_SILENCE * 1000);
  try {
    const response = await target.fetch(`${target.url}/v1/jobs/${encodeURIComponent(jobId)}/events`, {
      headers,
      signal: signal === undefined ? silent.signal : AbortSignal.any([silent.signal, signal]),
      redirect: "manual",
    });
    if (!response.ok || response.body === null) {
      const problem = await problemOf(response);
      if (pauseBefore(problem, 0) !== undefined) throw new ConnectionError(problem.message, { cause: problem });
      throw problem;
    }
    let rest = "";
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), MAX_SILENCE * 1000);
      const messages = (rest + part).split(/\r\n\r\n|\n\n|\r\r/);
      rest = messages.pop() ?? "";
      for (const message of messages) {
        const data = dataOf(message);
        if (data !== "") yield JSON.parse(data) as JobEvent;
      }
    }
  } catch (fault) {
    if (fault instanceof Error && ["Problem", "ConnectionError"].includes(fault.name)) throw fault;
    throw new ConnectionError(`the stream of events broke: ${causeOf(fault)}`, { cause: fault });
  } finally {
    clearTimeout(timer);
    silent.abort(); // who stops reading gives the connection back
  }
}

/** Return the `data` of one message of the HTML standard's event streams. */
function dataOf(message: string): string {
  return message
    .split(/\r\n|\n|\r/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, ""))
    .join("\n");
}
