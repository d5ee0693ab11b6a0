// The key of this browser: a session's, kept for the tab or, when asked to stay signed in, for the browser.
const NAME = "assay.key";

let expired: () => void = () => undefined;

export function currentKey(): string | null {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
}

export function keepKey(key: string, stay: boolean): void {
  forgetKey();
  (stay ? localStorage : sessionStorage).setItem(NAME, key);
}

export function forgetKey(): void {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
}

/** Called once a request is answered with 401: the page asks again, and what was open stays. */
export function onExpiry(ask: () => void): void {
  expired = ask;
}

export function askAgain(): void {
  expired();
}
