import { describe, expect, it } from "vitest";
import type { Job, JobPage } from "../src/api/types";
import { safeText } from "../src/shared/tables/csv";
import { csvOf, everything, MAX_JOBS, MAX_PAGES } from "../src/features/jobs/fetch-all";

const jobOf = (id: number): Job => ({ id: String(id), kind: "execute", state: "succeeded", title: `job ${id}` }) as unknown as Job;
/** A server with a number of jobs and a size of pages. */
const serverOf = (jobs: number, each: number) => async ({ cursor }: { cursor?: unknown }): Promise<JobPage> => {
  const from = Number(cursor ?? 0);
  const items = Array.from({ length: Math.max(0, Math.min(each, jobs - from)) }, (_, place) => jobOf(from + place));
  return { items, next_cursor: from + each < jobs || each === 0 ? String(from + each) : null } as unknown as JobPage;
};
const live = () => new AbortController().signal;

describe("an export of the whole list", () => {
  it("has the jobs of all pages, and reports its progress", async () => {
    const told: number[] = [];
    const all = await everything({}, live(), (jobs) => told.push(jobs), serverOf(450, 200) as never);
    expect([all.jobs.length, all.cut, told]).toEqual([450, false, [200, 400, 450]]);
  });

  it("ends, and says that it was cut, however long the list is or however few jobs fit", async () => {
    const long = await everything({}, live(), () => undefined, serverOf(MAX_JOBS + 1, 200) as never);
    expect([long.jobs.length, long.cut]).toEqual([MAX_JOBS, true]);
    let pages = 0;
    const none = await everything({}, live(), () => (pages += 1), serverOf(10, 0) as never);
    expect([none.jobs.length, none.cut, pages]).toEqual([0, true, MAX_PAGES]);
  });

  it("stops when it is aborted", async () => {
    const stop = new AbortController();
    await expect(everything({}, stop.signal, () => stop.abort(), serverOf(900, 200) as never)).rejects.toThrow(/abort/i);
  });

  it("has no cell that a spreadsheet takes for a formula", () => {
    const evil = { ...jobOf(1), title: '=HYPERLINK("x")' } as Job;
    expect(csvOf([evil]).split("\n")[1]).toContain(`"'=HYPERLINK(""x"")"`);
  });
});

describe("a table as CSV", () => {
  it("has no formulas, and everything else as it was written", () => {
    const given = 'name,n\n"=1+1, ""a""",-1.5e-07\r\n@sum(A1),+3\n-x,-inf\n"a\n=b",9007199254740993\n,=cmd';
    expect(safeText(given)).toBe('name,n\n"\'=1+1, ""a""",-1.5e-07\r\n\'@sum(A1),+3\n\'-x,-inf\n"a\n=b",9007199254740993\n,\'=cmd');
  });

  it("is the same when nothing in it is one", () => {
    const given = 'a,b\n"x,""y""",\n\n1,"two\r\nlines"\n';
    expect(safeText(given)).toBe(given);
  });
});
