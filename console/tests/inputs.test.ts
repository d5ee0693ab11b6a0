import { MantineProvider } from "@mantine/core";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { ConversationSummary, Job } from "../src/api/types";
import { readable } from "../src/features/conversations/page";
import { jobIdIn } from "../src/features/jobs/filters";
import { Duration } from "../src/features/jobs/row";
import { faultOf, guessMapping } from "../src/features/search/mapping-guess";
import { Diff } from "../src/shared/code/code";
import { Loading } from "../src/shared/page/loading-states";
import { alignment, DataTable } from "../src/shared/tables/table";

const drawn = (node: ReactNode): string => renderToStaticMarkup(createElement(MantineProvider, null, node)).replace(/<style[\s\S]*?<\/style>/g, "");
const words = (node: ReactNode): string => drawn(node).replace(/<[^>]+>/g, " ").replace(/\s+/g, " ").trim();

describe("an input that once came out wrong", () => {
  it("a pasted ID of a job is that job, with blanks and in capitals too, and other words are searched for", () => {
    const id = "01980c4e-1111-7222-8333-444455556666";
    expect([id, ` ${id}\n`, id.toUpperCase()].map(jobIdIn)).toEqual([id, id, id]);
    expect(["months", id.slice(0, 13), `${id} and more`, ""].map(jobIdIn)).toEqual([null, null, null, null]);
  });

  it("the same code twice is one line and no empty box", () => {
    const same = drawn(createElement(Diff, { before: "a\nb", after: "a\nb", same: "Same code as attempt 1." }));
    expect(same).toContain("Same code as attempt 1.");
    expect([same.includes("<pre"), same.includes("Copy")]).toEqual([false, false]);
  });

  it("one line that is left out is a line, and two are lines", () => {
    const text = (lines: number, last: string): string => [...Array.from({ length: lines }, (_, place) => `line ${place}`), last].join("\n");
    expect(words(createElement(Diff, { before: text(4, "old"), after: text(4, "new") }))).toContain("Show 1 unchanged line Copy");
    expect(words(createElement(Diff, { before: text(5, "old"), after: text(5, "new") }))).toContain("Show 2 unchanged lines");
  });

  it("numbers are at the right in small tables as in those of many pages, with their heads", () => {
    expect(["int", "float", "decimal", "string", "date", undefined].map(alignment)).toEqual(["num", "num", "num", "", "", ""]);
    const table = drawn(createElement(DataTable, { label: "t", columns: [{ name: "n", type: "int" }, { name: "s", type: "string" }], rows: [[1, "a"], [2, "b"]] }));
    expect(table.match(/<th[^>]*class="num"/g)).toHaveLength(1);
    expect(table.match(/<td class="num/g)).toHaveLength(2);
  });

  it("a running job has the time that it runs so far", () => {
    const job = (state: string): Job => ({ state, started_at: new Date(Date.now() - 12_000).toISOString(), finished_at: null }) as Job;
    expect(words(createElement(Duration, { job: job("running") }))).toMatch(/^1[12]\.\d s$/);
    expect(words(createElement(Duration, { job: job("queued") }))).toBe("–");
  });

  it("a file without an id gets one, and a name and a text of its columns", () => {
    const columns = ["title", "abstract", "year"].map((name) => ({ name, type: name === "year" ? "int" : "string" }));
    const mapping = guessMapping(columns, ["year"]);
    expect(mapping).toMatchObject({ id: null, name: "title", text: ["abstract"] });
    expect(faultOf(mapping)).toBe(null);
    expect(faultOf(guessMapping([{ name: "n", type: "int" }], []))).toContain("Choose at least one column for the text");
  });

  it("jobs without a message are no conversations, but for one that is opened by a link", () => {
    const all = [{ id: "a", messages_count: 0 }, { id: "b", messages_count: 2 }, { id: "c", messages_count: 0 }] as ConversationSummary[];
    expect(readable(all, undefined).map(({ id }) => id)).toEqual(["b"]);
    expect(readable(all, "c").map(({ id }) => id)).toEqual(["b", "c"]);
  });

  it("a page that loads says so by a role that may have a name", () => {
    expect(drawn(createElement(Loading))).toMatch(/role="status"[^>]*aria-label="Loading"|aria-label="Loading"[^>]*role="status"/);
  });
});
