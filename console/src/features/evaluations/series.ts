import type { EvaluationSummary } from "../../api/types";

export interface Point {
  id: string;
  place: number;
  label: string;
  share: number;
  interval: readonly [number, number];
  runs: number;
}

export interface Series {
  name: string;
  points: Point[];
}

/** A line for each variant over time, or for each model over the versions of a prompt, with the newest evaluation of each. */
export function series(items: readonly EvaluationSummary[], by: "time" | "prompt"): Series[] {
  const lines = new Map<string, Map<number, Point>>();
  const oldestFirst = [...items].sort((one, other) => one.created_at.localeCompare(other.created_at));
  for (const item of oldestFirst) {
    for (const total of item.totals) {
      const variant = item.variants.find((each) => each.name === total.variant);
      const prompt = variant?.prompt?.split("@");
      if (total.runs === 0 || (by === "prompt" && prompt === undefined)) continue;
      const name = by === "time" ? total.variant : `${variant?.model ?? "the installation's models"}, ${prompt![0]!}`;
      const place = by === "time" ? Date.parse(item.created_at) : Number(prompt![1]);
      const label = by === "time" ? item.created_at.slice(5, 16).replace("T", " ") : `@${place}`;
      const point: Point = { id: item.id, place, label, share: total.successes / total.runs, interval: total.interval as [number, number], runs: total.runs };
      lines.set(name, (lines.get(name) ?? new Map<number, Point>()).set(place, point));
    }
  }
  return [...lines].map(([name, points]) => ({ name, points: [...points.values()].sort((one, other) => one.place - other.place) }));
}
