/** Check that a webhook's delivery is genuine, as Standard Webhooks (https://www.standardwebhooks.com) says. */

import type { Notice } from "./types.js";

const MAX_AGE = 300;

/** The delivery is not signed by a secret, is older than five minutes, or lacks a header: do not act on it. */
export class InvalidSignature extends Error {
  override name = "InvalidSignature";
}

/**
 * Return the notice if it is genuine. `body` is what was received, byte for byte; `secret` one or several
 * (`whsec_...`), while they are rotated. `webhook-id` is the same over all attempts: act once on each.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: Headers | Record<string, string | string[] | undefined>,
  secret: string | readonly string[],
): Promise<Notice> {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    header(headers, name),
  ) as [string, string, string];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= MAX_AGE)) {
    throw new InvalidSignature("the delivery is older than five minutes, or from the future");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${timestamp}.`), ...bytes]);
  const theirs = signatures
    .split(" ")
    .filter((each) => each.startsWith("v1,"))
    .map((each) => decoded(each.slice(3)));
  for (const each of typeof secret === "string" ? [secret] : secret) {
    const key = await keyOf(each);
    for (const signature of theirs) {
      // `crypto.subtle.verify` compares in constant time.
      if (signature !== undefined && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
        return JSON.parse(new TextDecoder().decode(bytes)) as Notice;
      }
    }
  }
  throw new InvalidSignature("no signature of the delivery is of this secret");
}

function header(headers: Headers | Record<string, string | string[] | undefined>, name: string): string {
  const named = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const value = named.find(([key]) => key.toLowerCase() === name)?.[1];
  const text = Array.isArray(value) ? value.join(" ") : value;
  if (!text) throw new InvalidSignature(`the delivery has no header ${name}`);
  return text;
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = decoded(secret.replace(/^whsec_/, ""));
  if (bytes === undefined || bytes.length === 0) {
    throw new TypeError("a webhook's secret is whsec_ and base64: `assay webhooks secrets` shows it");
  }
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
