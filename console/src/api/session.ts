// The key of this browser: a session's, kept for the tab or, with "stay signed in", for the browser.
const NAME = "assay.key";
const TENANT = "assay.tenant";
/** Under which the tab keeps what is typed. */
export const DRAFTS = "assay.draft.";

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

/** Notes whose page this tab is. Whether it was another tenant's: then what was typed for that one is forgotten. */
export function belongTo(tenant: string): boolean {
  const before = sessionStorage.getItem(TENANT);
  sessionStorage.setItem(TENANT, tenant);
  if (before === null || before === tenant) return false;
  forgetDrafts();
  return true;
}

export function forgetDrafts(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(DRAFTS)) sessionStorage.removeItem(name);
}

/** Called once a request is answered with 401: the page shows the sign-in form, and what was open stays. */
export function onExpiry(ask: () => void): void {
  expired = ask;
}

export function askAgain(): void {
  expired();
}
