import { describe, expect, it } from "vitest";
import { within } from "../src/shared/tables/column-head";
import { widthsOf } from "../src/shared/tables/sorted-table";
import { ariaSort, nextSort, sorted, sortOf, textOf } from "../src/shared/tables/sorting";

describe("a table that is sorted", () => {
  it("sorts numbers as numbers, words as a person does, and keeps the order of equal rows", () => {
    const of = (...values: (string | number | null | undefined)[]) => values.map((value, place) => ({ value, place }));
    const values = (rows: ReturnType<typeof of>, down: boolean) => sorted(rows, (row) => row.value, down).map((row) => row.value);
    expect(values(of(10, 9, 100), false)).toEqual([9, 10, 100]);
    expect(values(of("job 10", "Job 9", "job 1"), false)).toEqual(["job 1", "Job 9", "job 10"]);
    expect(values(of("é", "z", "E", "a"), false)).toEqual(["a", "é", "E", "z"].sort(new Intl.Collator("en", { sensitivity: "base" }).compare));
    expect(sorted(of(1, 2, 1, 2), (row) => row.value, true).map((row) => row.place)).toEqual([1, 3, 0, 2]);
  });

  it("has what is unknown last in both directions", () => {
    const rows = [null, 2, undefined, 1, Number.NaN, ""].map((value) => ({ value }));
    for (const down of [true, false]) expect(sorted(rows, (row) => row.value, down).slice(2).every(({ value }) => !value)).toBe(true);
  });

  it("begins with the largest number and the first word, turns with a second click, and ends with a third", () => {
    const clicks = (num: boolean) => {
      const first = nextSort(null, "Jobs", num);
      const second = nextSort(first, "Jobs", num);
      return [first, second, nextSort(second, "Jobs", num)].map((sort) => textOf(sort));
    };
    expect([clicks(true), clicks(false)]).toEqual([["-Jobs", "Jobs", null], ["Jobs", "-Jobs", null]]);
    expect(nextSort({ name: "Cost", down: false }, "Jobs", true)).toEqual({ name: "Jobs", down: true });
  });

  it("has its sort in the address, and says it to who does not see it", () => {
    expect([sortOf("-Error rate"), sortOf("Jobs"), sortOf(""), sortOf(undefined)]).toEqual([{ name: "Error rate", down: true }, { name: "Jobs", down: false }, null, null]);
    expect([ariaSort({ name: "Jobs", down: true }, "Jobs"), ariaSort({ name: "Jobs", down: false }, "Jobs"), ariaSort(null, "Jobs"), ariaSort({ name: "Jobs", down: true }, "Cost")]).toEqual(["descending", "ascending", undefined, undefined]);
  });

  it("keeps widths that are widths, and drags none away", () => {
    expect([widthsOf("[100, 50.5]"), widthsOf("[0]"), widthsOf('["1"]'), widthsOf("{}"), widthsOf("{"), widthsOf(null)]).toEqual([[100, 50.5], null, null, null, null, null]);
    expect([within(3), within(120.4), within(9999)]).toEqual([40, 120, 800]);
  });
});
