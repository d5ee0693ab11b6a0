import type { components } from "../../api/schema";
import type { Job } from "../../api/types";

type Schemas = components["schemas"];

export type Tone = "good" | "bad" | "warn" | "accent" | "neutral";
export type StateIcon =
  | "dashed"
  | "half"
  | "check"
  | "cross"
  | "slash"
  | "skull"
  | "dashed-check"
  | "question"
  | "alert"
  | "minus"
  | "clock"
  | "octagon"
  | "pause"
  | "unplug"
  | "triangle"
  | "tick"
  | "times"
  | "dash";

export interface State {
  word: string;
  icon: StateIcon;
  tone: Tone;
}

const state = (word: string, icon: StateIcon, tone: Tone): State => ({ word, icon, tone });

/** How a job ended, or where it is. */
export const JOB_STATES: Readonly<Record<Schemas["JobState"], State>> = {
  queued: state("Queued", "dashed", "neutral"),
  running: state("Running", "half", "accent"),
  succeeded: state("Succeeded", "check", "good"),
  failed: state("Failed", "cross", "bad"),
  cancelled: state("Canceled", "slash", "neutral"),
  dead: state("Crashed", "skull", "bad"),
};

/** What a succeeded job's result says of itself. */
export const RESULT_STATES: Readonly<Record<Schemas["TransformStatus"] | Schemas["SearchVerdict"] | Schemas["Verdict"] | "failed" | "block_failed", State>> = {
  done: state("Done", "check", "good"),
  unverified: state("Unverified", "dashed-check", "warn"),
  best_so_far: state("Best so far", "dashed-check", "warn"),
  question: state("Needs an answer", "question", "accent"),
  failed: state("No valid result", "cross", "bad"),
  found: state("Found", "check", "good"),
  weak: state("Weak match", "alert", "warn"),
  not_found: state("Not found", "minus", "neutral"),
  ok: state("OK", "check", "good"),
  user_error: state("Program error", "cross", "bad"),
  signal: state("Program error", "cross", "bad"),
  timeout_wall: state("Timed out", "clock", "bad"),
  timeout_cpu: state("Timed out", "clock", "bad"),
  memory: state("Memory limit", "octagon", "bad"),
  output: state("Output limit", "octagon", "bad"),
  disk: state("Disk limit", "octagon", "bad"),
  processes: state("Process limit", "octagon", "bad"),
  rejected: state("Rejected", "slash", "bad"),
  cancelled: state("Canceled", "slash", "neutral"),
  block_failed: state("Block failed", "cross", "bad"),
};

export const BLOCK_STATES: Readonly<Record<Schemas["BlockStatus"], State>> = {
  ok: state("OK", "check", "good"),
  fresh: state("OK", "check", "good"),
  stale: state("Changed", "dashed", "warn"),
  error: state("Block failed", "cross", "bad"),
  skipped: state("Skipped", "minus", "neutral"),
};

/** An attempt at a transform. */
export const ATTEMPT_STATES: Readonly<Record<Schemas["IterationOutcome"] | "unverified", State>> = {
  result: state("Code ran", "check", "good"),
  unverified: state("Unverified", "dashed-check", "warn"),
  error: state("Code failed", "cross", "bad"),
  no_code: state("No code", "cross", "bad"),
  not_a_table: state("Not a table", "cross", "bad"),
  assertion_failed: state("Check failed", "cross", "bad"),
  no_op: state("No change", "cross", "bad"),
};

export const CHECK_STATES = {
  passed: state("Passed", "tick", "good"),
  failed: state("Failed", "times", "bad"),
  not_run: state("Not run", "dash", "warn"),
} as const;

export const PROVIDER_STATES = {
  healthy: state("Healthy", "check", "good"),
  elevated: state("Elevated errors", "triangle", "warn"),
  failing: state("Failing", "octagon", "bad"),
  parked: state("Rate-limited", "pause", "warn"),
  open: state("Unavailable", "unplug", "bad"),
  refusing: state("Refusing", "octagon", "bad"),
  half_open: state("Recovering", "half", "accent"),
  unconfigured: state("No key", "minus", "neutral"),
} as const satisfies Record<string, State>;

export const WORKER_STATES = {
  online: state("Online", "check", "good"),
  standby: state("Standby", "pause", "neutral"),
  offline: state("Offline", "unplug", "bad"),
} as const;

export const KIND_STATES: Readonly<Record<Schemas["KindReadiness"], State>> = {
  ready: state("Ready", "check", "good"),
  degraded: state("Degraded", "triangle", "warn"),
  needs_provider: state("Needs a provider", "triangle", "warn"),
  no_worker: state("No worker", "unplug", "bad"),
};

export const EVALUATION_STATES: Readonly<Record<Schemas["EvaluationState"] | Schemas["ShadowState"], State>> = {
  running: state("Running", "half", "accent"),
  finished: state("Finished", "check", "good"),
  stopped: state("Stopped", "slash", "neutral"),
  cancelled: state("Canceled", "slash", "neutral"),
  budget_spent: state("Budget spent", "octagon", "bad"),
};

export const HEALTH_STATES: Readonly<Record<Schemas["DependencyHealth"], State>> = {
  ok: state("OK", "check", "good"),
  degraded: state("Degraded", "triangle", "warn"),
};

/** The one mark of a job: the most exact that is known. A job may succeed though its code, a block or a check did not. */
export function stateOf(job: Pick<Job, "state"> & { verdict?: string | null; result?: unknown }): State {
  if (job.state !== "succeeded") return JOB_STATES[job.state];
  const verdict = verdictOf(job.result as Readonly<Record<string, unknown>> | null) ?? job.verdict;
  if (verdict == null || verdict === "ok") return JOB_STATES.succeeded;
  return RESULT_STATES[verdict as keyof typeof RESULT_STATES] ?? state(words(verdict), "alert", "warn");
}

/** An outcome as the server counts them: the error of a failed job, what a result says of itself, else the state. */
export function outcomeState(outcome: string, failed: boolean): State {
  const known = RESULT_STATES[outcome as keyof typeof RESULT_STATES] ?? JOB_STATES[outcome as Job["state"]];
  if (failed) return known?.tone === "bad" ? known : state(words(outcome), "cross", "bad");
  if (outcome === "ok") return JOB_STATES.succeeded;
  return known ?? state(words(outcome), "alert", "warn");
}

export type OutcomeGroup = "Active" | "Done" | "Unverified" | "Needs an answer" | "Failed" | "Canceled";

/** Group of an outcome in filters and charts: every failure is in one, whatever the state of its job is. */
export function groupOf(outcome: string, failed = false): OutcomeGroup {
  if (outcome === "cancelled") return "Canceled";
  if (outcome === "question") return "Needs an answer";
  if (outcome === "queued" || outcome === "running") return "Active";
  const { tone } = outcomeState(outcome, failed);
  return tone === "bad" ? "Failed" : tone === "warn" ? "Unverified" : "Done";
}

/** The outcome of a job, as the server names it. */
export function outcomeOf(job: Pick<Job, "state" | "verdict" | "error">): string {
  if (job.state === "failed" || job.state === "dead") return job.error?.code ?? job.state;
  return (job.state === "succeeded" ? job.verdict : null) ?? job.state;
}

/** The outcomes of a group, as the list of jobs filters by them. */
export function outcomesOf(group: string): string[] {
  return [...new Set([...Object.keys(JOB_STATES), ...Object.keys(RESULT_STATES)])].filter((outcome) => groupOf(outcome) === group);
}

/** What a whole result says of itself, as the list of jobs has it. */
export function verdictOf(result: Readonly<Record<string, unknown>> | null | undefined): string | null {
  if (blocksOf(result).some(({ status }) => status === "error")) return "block_failed";
  const said = result?.verdict ?? result?.status ?? (typeof result?.success === "boolean" ? (result.success ? "ok" : "failed") : null);
  return typeof said === "string" ? said : null;
}

/** "1 of 9 blocks failed"; null where none has. */
export function failedBlocks(result: Readonly<Record<string, unknown>> | null | undefined): string | null {
  const blocks = blocksOf(result);
  const failed = blocks.filter(({ status }) => status === "error").length;
  return failed === 0 ? null : `${failed} of ${blocks.length} blocks failed`;
}

function blocksOf(result: Readonly<Record<string, unknown>> | null | undefined): { status?: string }[] {
  return Array.isArray(result?.blocks) ? (result.blocks as { status?: string }[]) : [];
}

const [ELEVATED, FAILING] = [0.01, 0.2];

/** State of a provider: its breaker, and while that is closed the share of its calls without an answer. */
export function providerState(breaker: Schemas["CircuitState"], { calls, errors }: { calls: number; errors: number }): State {
  if (breaker !== "closed") return PROVIDER_STATES[breaker];
  const rate = calls === 0 ? 0 : errors / calls;
  return rate > FAILING ? PROVIDER_STATES.failing : rate >= ELEVATED ? PROVIDER_STATES.elevated : PROVIDER_STATES.healthy;
}

/** A value of the API as words: "budget_spent" is "Budget spent". */
export function words(value: string): string {
  const text = value.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
