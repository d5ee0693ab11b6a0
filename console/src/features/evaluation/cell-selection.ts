import type { Evaluation } from "../../api/types";

/** Position of a cell, as in the address: number of the case, number of the variant. */
export function placeOf(evaluation: Evaluation, cell: { case: string; variant: string }): string {
  return `${evaluation.cases.indexOf(cell.case)}.${evaluation.variants.findIndex((variant) => variant.name === cell.variant)}`;
}

/** The first choice, then the second; a chosen one is let go, and a third starts again. */
export function nextChoice(a: string | undefined, b: string | undefined, place: string): Record<string, string | null> {
  const runs = { ra: null, rb: null };
  if (place === a) return { ...runs, a: b ?? null, b: null };
  if (place === b) return { ...runs, b: null };
  if (a === undefined || b !== undefined) return { ...runs, a: place, b: null };
  return { ...runs, b: place };
}

/** The case and variant at a place of the address; none for one that is not of this evaluation. */
export function cellAt(evaluation: Evaluation, place: string | undefined): Evaluation["cells"][number] | undefined {
  return place === undefined ? undefined : evaluation.cells.find((cell) => placeOf(evaluation, cell) === place);
}
