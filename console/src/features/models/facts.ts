import type { components } from "../../api/schema";
import type { Link, Models } from "../../api/types";
import { cell } from "../../shared/values/numbers";

export type Price = components["schemas"]["ModelPrice"];

/** What is known of models by their names ("provider/model"). */
export interface Facts {
  prices: ReadonlyMap<string, Price>;
  /** The day after which the vendor does not serve it. */
  ends: ReadonlyMap<string, string>;
  configured: ReadonlyMap<string, boolean>;
  names: readonly string[];
}

export function factsOf(models: Models): Facts {
  const each = models.available.map((model) => [nameOf({ provider: String(model.provider), model: String(model.model) }), model] as const);
  return {
    prices: new Map((models.prices ?? []).map((price) => [nameOf(price), price])),
    ends: new Map(each.flatMap(([name, { retired }]) => (retired ? [[name, String(retired)] as const] : []))),
    configured: new Map(each.map(([name, { configured }]) => [name, configured === true])),
    names: each.map(([name]) => name),
  };
}

export function nameOf({ provider, model }: { provider: string; model: string }): string {
  return `${provider}/${model}`;
}

/** "temperature 0.2, seed 7"; nothing where the vendor's defaults apply. */
export function parameterWords({ parameters }: Pick<Link, "parameters">): string {
  return Object.entries(parameters ?? {})
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${cell(value)}`)
    .join(", ");
}

/** A chain as text, a line for each model. */
export function linesOf(links: readonly Link[]): string {
  return links.map((link) => [nameOf(link), parameterWords(link)].filter(Boolean).join(", ")).join("\n");
}

/** "$0.15 in, $0.6 out per million tokens"; what is unknown is said and never $0. */
export function priceWords(price: Price | undefined): string {
  if (price?.input == null || price.output == null) return "price unknown";
  return `${dollars(price.input)} in, ${dollars(price.output)} out per million tokens`;
}

/** "$0.60", "$0.075": at least two digits of cents. */
export function dollars(price: number): string {
  const text = String(price);
  const digits = text.split(".")[1]?.length ?? 0;
  return `$${digits < 2 ? price.toFixed(2) : text}`;
}

/** Whether its vendor has ended it, and when; null where nothing is announced. */
export function endsWords({ ends }: Pick<Facts, "ends">, link: { provider: string; model: string }, today = new Date().toISOString().slice(0, 10)): { words: string; over: boolean } | null {
  const day = ends.get(nameOf(link));
  if (day === undefined) return null;
  return day <= today ? { words: `Retired ${day}`, over: true } : { words: `Retires ${day}`, over: false };
}
