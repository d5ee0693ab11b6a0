import { useQuery } from "@tanstack/react-query";
import { get } from "../../../api/client";
import { useSession } from "../../../api/queries";
import type { ChangeSet, Page } from "../../../api/types";
import { sentence } from "../editing/announcements";

/** As many as can be undone: one page holds them all. */
export function useChanges(flowId: string) {
  return useQuery({ queryKey: ["flow-history", flowId], queryFn: () => get<Page<ChangeSet>>(`/v1/flows/${flowId}/history`, { limit: 200 }) });
}

/** What the buttons would do, in words; null when nothing is left, undefined while that is not known. */
export interface NextSteps {
  undo: string | null | undefined;
  mine: string | null | undefined;
  redo: string | null | undefined;
}

export function useNextSteps(flowId: string): NextSteps {
  const changes = useChanges(flowId).data?.items;
  const own = useSession()?.key_id;
  return changes === undefined || own === undefined ? { undo: undefined, mine: undefined, redo: undefined } : nextSteps(changes, own);
}

/** The changes come newest first. */
export function nextSteps(changes: readonly ChangeSet[], own: string): NextSteps {
  const words = (change: ChangeSet | undefined): string | null => (change === undefined ? null : sentence(change.summary));
  const applied = changes.filter((change) => !change.undone);
  const undone = changes.filter((change) => change.undone).sort((one, other) => (other.undone_version ?? 0) - (one.undone_version ?? 0));
  return { undo: words(applied[0]), mine: words(applied.find((change) => change.actor === own)), redo: words(undone[0]) };
}
