import { copy } from "../../shared/page/copy";
import { useQueryClient, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Job, Page } from "../../api/types";
import { SHOWN_ORDER } from "../../api/queries";
import { lastFilter } from "../../shared/page/url";
import { isGoing, isTyping, keysAreOn } from "../../app/keys";

/** j and k go to the next job of the list that one came from and the one before, c copies the id, r replays, [ and ] go to the attempt before and after, e to the next error, . opens the actions, Escape goes back to the list. */
export function useJobKeys(job: Job, replay: () => void, choose: (turn: number) => void): void {
  const navigate = useNavigate();
  const client = useQueryClient();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (isTyping(event.target) || !keysAreOn() || event.ctrlKey || event.metaKey || event.altKey || isGoing()) return;
      if (document.querySelector("[role=dialog], [role=menu]") !== null) return;
      if (event.key === "c") copy(job.id);
      else if (event.key === "r") replay();
      else if (event.key === ".") setTimeout(() => document.querySelector<HTMLElement>("[data-actions]")?.click());
      else if (event.key === "[" || event.key === "]") {
        const attempt = step("[data-attempt]", event.key === "]" ? 1 : -1)?.dataset.attempt;
        if (attempt !== undefined) choose(Number(attempt));
      }
      else if (event.key === "e") step(".callout.bad, .ln.mark", 1);
      else if (event.key === "j" || event.key === "k") {
        const next = neighbour(client, job.id, event.key === "j" ? 1 : -1);
        if (next !== undefined) void navigate({ to: "/jobs/$id", params: { id: next }, search: {} });
      } else if (event.key === "Escape") void navigate({ to: "/jobs", search: lastFilter() as never });
    };
    // Before all others: what closes a menu takes it away, and its Escape is not the page's.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [job.id, client, navigate, replay, choose]);
}

/** Of the lists of jobs that were shown lately, the newest that has this one: its next, or the one before. */
function neighbour(client: QueryClient, id: string, by: number): string | undefined {
  const order = client.getQueryData<readonly string[]>(SHOWN_ORDER);
  if (order?.includes(id)) return order[order.indexOf(id) + by];
  const lists = client.getQueryCache().findAll({ queryKey: ["jobs"] }).sort((one, other) => other.state.dataUpdatedAt - one.state.dataUpdatedAt);
  for (const { state } of lists) {
    const ids = ((state.data as Partial<InfiniteData<Page<Job>>> | undefined)?.pages ?? []).flatMap((page) => page.items.map((job) => job.id));
    if (ids.includes(id)) return ids[ids.indexOf(id) + by];
  }
  return undefined;
}

/** Shows the next of what fits, seen from the one that was shown last, else from the one that is chosen; after the last comes the first. */
function step(selector: string, by: number): HTMLElement | undefined {
  const places = [...document.querySelectorAll<HTMLElement>(`#main :is(${selector})`)];
  if (places.length === 0) return undefined;
  const focused = places.findIndex((place) => place === document.activeElement);
  const at = focused === -1 ? places.findIndex((place) => place.dataset.chosen === "true") : focused;
  const next = places[at === -1 ? (by > 0 ? 0 : places.length - 1) : (at + by + places.length) % places.length]!;
  next.tabIndex = -1;
  next.scrollIntoView({ block: "nearest" });
  next.focus({ preventScroll: true });
  return next;
}
