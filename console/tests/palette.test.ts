import { describe, expect, test } from "vitest";
import { matching, onceEach, type Action } from "../src/app/actions";

const named = (...names: string[]): Action[] => names.map((name) => ({ name, go: () => undefined }));

describe("the palette", () => {
  test("finds what has all the words, what begins with them first", () => {
    const choices = named("New job: transform", "Copy as curl", "Transform", "Copy the id");
    expect(matching(choices, "trans").map(({ name }) => name)).toEqual(["Transform", "New job: transform"]);
    expect(matching(choices, "id copy").map(({ name }) => name)).toEqual(["Copy the id"]);
    expect(matching(choices, " ")).toHaveLength(4);
  });
  test("lists a name once, where it comes first", () => {
    const [first, , second] = [...named("Run", "Cancel"), ...named("Run")];
    const listed = onceEach([first!, ...named("Cancel"), second!]);
    expect(listed.map(({ name }) => name)).toEqual(["Run", "Cancel"]);
    expect(listed[0]).toBe(first);
  });
});
