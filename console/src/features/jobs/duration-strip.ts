import type { CSSProperties } from "react";
import type { Job } from "../../api/types";
import { between, took } from "../../shared/values/time";

interface Page {
  items: readonly Job[];
}

const known = new WeakMap<Page, number>();

/** The seconds from submission to end of the slowest job of a page, computed once for each page that was fetched. */
export function longestOf(page: Page): number {
  const seconds = known.get(page) ?? page.items.reduce((most, job) => Math.max(most, between(job.created_at, job.finished_at) ?? 0), 0);
  known.set(page, seconds);
  return seconds;
}

/** How long a job waited and ran, as parts of the slowest job of the list: one element, drawn by its background. */
export function stripOf(job: Job, longest: number): { style?: CSSProperties; title?: string } {
  const [waited, ran] = [between(job.created_at, job.started_at), between(job.started_at, job.finished_at)];
  if (waited === null || ran === null || longest === 0) return {};
  const part = (seconds: number): string => `${Math.min(100, (100 * seconds) / longest).toFixed(1)}%`;
  return {
    style: { "--waited": part(waited), "--done": part(waited + ran) } as CSSProperties,
    title: `waited ${took(waited)}, ran ${took(ran)}; the slowest of this list took ${took(longest)}`,
  };
}
