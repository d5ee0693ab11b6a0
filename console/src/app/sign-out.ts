import { remove } from "../api/client";
import { forgetDrafts, forgetKey } from "../api/session";

/** Ends the session, and forgets its key and what was typed. */
export async function signOut(): Promise<void> {
  await remove("/v1/session").catch(() => undefined); // a pasted key is not a session: it is only forgotten
  forgetKey();
  forgetDrafts();
  location.assign("/");
}
