/** An evaluation's state as one of those that have a shape and a colour. */
export function markOf(state: string): string {
  return { running: "running", finished: "succeeded", cancelled: "cancelled", budget_spent: "failed" }[state] ?? "queued";
}

export function stateWords(state: string): string {
  return state.replaceAll("_", " ");
}
