import { Problem, problemOf, unreachable } from "./problem";
import { askAgain, currentKey } from "./session";
import { newUuid } from "./uuid";

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  raw?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** One request; the answer as it comes. Raises: Problem. */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const key = currentKey();
  if (key !== null) headers.Authorization ??= `Bearer ${key}`;
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  if (method === "POST") headers["Idempotency-Key"] ??= newUuid();
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  let answer: Response;
  try {
    answer = await fetch(`${path}${search(options.query)}`, { method, headers, body, signal: options.signal ?? null });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (answer.ok || answer.status === 304) return answer;
  if (answer.status === 401 && !path.startsWith("/v1/sessions")) askAgain();
  throw await problemOf(answer);
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await send("GET", path, { query, signal })).json() as Promise<T>;
}

export async function post<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const answer = await send("POST", path, { body, headers });
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

export async function put<T>(path: string, body: unknown, headers?: Record<string, string>): Promise<T> {
  return (await send("PUT", path, { body, headers })).json() as Promise<T>;
}

/** Only over the version that was read. Raises: Problem 412 when there is another one. */
export function putOver<T>(path: string, body: unknown, tag: string | null): Promise<T> {
  return put<T>(path, body, over(tag));
}

/** The same for other methods than PUT. */
export function postOver<T>(path: string, body: unknown, tag: string | null): Promise<T> {
  return post<T>(path, body, over(tag));
}

function over(tag: string | null): Record<string, string> {
  return tag === null ? {} : { "If-Match": tag };
}

export async function remove(path: string): Promise<void> {
  await send("DELETE", path);
}

/** A value with the tag that a later write gives back as `If-Match`. */
export interface Tagged<T> {
  value: T;
  tag: string | null;
}

export async function tagged<T>(path: string): Promise<Tagged<T>> {
  const answer = await send("GET", path);
  return { value: (await answer.json()) as T, tag: answer.headers.get("etag") };
}

const tags = new WeakMap<object, string>();

/** The value, or the very one from before when the server says that it is still that: reading a large one again costs a tenth of a second. */
export async function getUnlessSame<T extends object>(path: string, before: T | undefined): Promise<T> {
  const known = before === undefined ? undefined : tags.get(before);
  const answer = await send("GET", path, { headers: known === undefined ? {} : { "If-None-Match": known } });
  if (answer.status === 304) return before!;
  const value = (await answer.json()) as T;
  const tag = answer.headers.get("etag");
  if (tag !== null) tags.set(value, tag);
  return value;
}

export async function upload(file: Blob, name: string): Promise<{ id: string; name: string; size: number }> {
  const answer = await send("POST", "/v1/files", { query: { name }, raw: file });
  return answer.json() as Promise<{ id: string; name: string; size: number }>;
}

export async function blobOf(fileId: string): Promise<Blob> {
  return (await send("GET", `/v1/files/${fileId}/content`, { headers: { Accept: "*/*" } })).blob();
}

function search(query: Query = {}): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? (value as readonly string[]) : [String(value)]) pairs.append(name, each);
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

export { Problem };
