import type { LlmCall } from "../api/types";

/** The attempts of each request, in their order; in calls of older versions a turn and its role replace the request. */
export function requestsOf(calls: readonly LlmCall[]): LlmCall[][] {
  const requests = new Map<string, LlmCall[]>();
  for (const call of calls) {
    const key = call.request ?? `${call.turn} ${call.role}`;
    requests.set(key, [...(requests.get(key) ?? []), call]);
  }
  return [...requests.values()];
}
