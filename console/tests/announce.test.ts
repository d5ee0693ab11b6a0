import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Speaker } from "../src/shared/page/announce";

describe("what is read out", () => {
  const said: string[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    said.length = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("comes at once, and then once in two seconds: the newest of each object", () => {
    const speaker = new Speaker((text) => said.push(text));
    speaker.say("execute queued", "one");
    vi.advanceTimersByTime(1);
    expect(said).toEqual(["execute queued"]);
    for (const state of ["running", "succeeded"]) speaker.say(`execute ${state}`, "one");
    speaker.say("transform failed", "two");
    vi.advanceTimersByTime(1990);
    expect(said).toHaveLength(1);
    vi.advanceTimersByTime(10);
    expect(said).toEqual(["execute queued", "execute succeeded. transform failed"]);
    vi.advanceTimersByTime(5000);
    expect(said).toHaveLength(2);
  });
});
