import { remove } from "../api/client";
import { forgetKey } from "../api/session";

/** Ends the session and forgets its key. */
export async function leave(): Promise<void> {
  await remove("/v1/session").catch(() => undefined); // a pasted key is no session: it is only forgotten
  forgetKey();
  location.assign("/");
}
