const GOOD: ReadonlySet<string> = new Set(["ok", "done", "found"]);

/** How a result calls itself, where that is less than what was asked for: a job may succeed and its code not. */
export function shortfall(verdict: string | null | undefined): string | null {
  return verdict === null || verdict === undefined || GOOD.has(verdict) ? null : verdict.replaceAll("_", " ");
}

/** The same of a whole result, as the list of jobs has it. */
export function verdictOf(result: Readonly<Record<string, unknown>> | null | undefined): string | null {
  const said = result?.verdict ?? result?.status ?? (typeof result?.success === "boolean" ? (result.success ? "ok" : "failed") : null);
  return typeof said === "string" ? said : null;
}
