const TIERS: Readonly<Record<string, string>> = { ns: "Linux namespaces", gvisor: "gVisor", microvm: "a virtual machine of its own" };

/** A tier of isolation in words. */
export function tierWords(tier: string): string {
  return TIERS[tier] ?? tier;
}
