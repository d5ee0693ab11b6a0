import { describe, expect, it } from "vitest";
import type { DocumentResult } from "../src/api/types";
import { codeOf } from "../src/results/value-spans";
import { between, rising, together, type Pair, type Scrolls } from "../src/shared/code/scroll-sync";

const PAIRS: readonly Pair[] = [
  [1, 0],
  [11, 100],
  [12, 400],
];

describe("places of two views", () => {
  it("lie as far between known ones in the other view", () => {
    expect(between(PAIRS, 6, 0)).toBe(50);
    expect(between(PAIRS, 50, 1)).toBe(6);
    expect(between(PAIRS, 11.5, 0)).toBe(250);
  });

  it("end where the views end", () => {
    expect([between(PAIRS, 40, 0), between(PAIRS, 0, 0), between([], 3, 0)]).toEqual([400, 0, 0]);
  });

  it("rise in both: what is moved elsewhere is left out", () => {
    expect(rising([[9, 90], [5, 10], [1, 0], [7, 5]])).toEqual([[1, 0], [5, 10], [9, 90]]); // prettier-ignore
  });
});

function view(at: number): Scrolls & { scrolled: (line: number) => void } {
  let line = at;
  let listener = (): void => undefined;
  const scrolled = (to: number): void => {
    line = to;
    listener();
  };
  return { top: () => line, setTop: scrolled, scrolled, onScroll: (heard) => ((listener = heard), () => (listener = () => undefined)) };
}

describe("two views that scroll together", () => {
  it("follow the one that is scrolled, and not their own following", () => {
    const [one, other] = [view(1), view(1)];
    const end = together(one, other);
    one.scrolled(7);
    expect([one.top(), other.top()]).toEqual([7, 7]);
    end();
    other.scrolled(3);
    expect(one.top()).toBe(7);
  });

  it("meet where the one is that was scrolled before the other came", () => {
    const tops = ([here, there]: [number, number]): number[] => {
      const [one, other] = [view(here), view(there)];
      together(one, other);
      return [one.top(), other.top()];
    };
    expect([tops([1, 9]), tops([9, 1]), tops([4, 9])]).toEqual([[9, 9], [9, 9], [4, 9]]); // prettier-ignore
  });
});

describe("the code of an inline value", () => {
  const at = (id: string): DocumentResult["blocks"][number] => ({ id, kind: "expression", lines: [3, 3], status: "ok" }) as DocumentResult["blocks"][number];
  const blocks = [at("a"), at("b")];

  it("is found in its line, in both ways of writing it", () => {
    const text = "\n\nIt is `total`{python exec} of `{python} len(numbers)` and `no code`.";
    expect(blocks.map((block) => codeOf(block, blocks, text))).toEqual(["total", "len(numbers)"]);
  });

  it("is not guessed where the line has another number of them", () => {
    expect(codeOf(blocks[0]!, blocks, "\n\nOnly `total`{python exec}.")).toBeNull();
  });
});
