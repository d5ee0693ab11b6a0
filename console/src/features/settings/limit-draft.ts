import type { components } from "../../api/schema";
import { GIGABYTE, QUOTA_NAMES } from "../../shared/page/quotas";

export type TenantLimits = components["schemas"]["TenantLimits"];

/** The fields of the form, by the limit's name; "" stands for the installation's default. */
export type Draft = Record<string, number | "">;

/** The share of the workers is set like a limit. */
export const WEIGHT = "weight";
const STORAGE = "storage_bytes";

/** Fill the form with what was set for the tenant. */
export function draftOf({ quotas, weight }: TenantLimits): Draft {
  const own = Object.entries(quotas).map(([name, quota]): [string, number | ""] => [name, quota.own === null || quota.own === undefined ? "" : name === STORAGE ? quota.own / GIGABYTE : quota.own]);
  return { ...Object.fromEntries(own), [WEIGHT]: weight === 1 ? "" : weight };
}

/** All limits as the server takes them: each request replaces all, and null is the default. */
export function bodyOf(draft: Draft): Record<string, number | null> {
  return Object.fromEntries(Object.entries(draft).map(([name, value]) => [name, value === "" ? null : name === STORAGE ? Math.round(value * GIGABYTE) : value]));
}

/** How a row of the form reads. */
export function shownOf({ quotas }: TenantLimits, name: string): { word: string; used: number | null; usual: number | null; suffix: string | undefined } {
  if (name === WEIGHT) return { word: "Weight", used: null, usual: 1, suffix: undefined };
  const quota = quotas[name]!;
  return { word: QUOTA_NAMES[name]!, used: quota.used, usual: quota.default ?? null, suffix: name === STORAGE ? "GB" : undefined };
}
