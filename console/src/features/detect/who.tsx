import { visible } from "../../shared/ansi";
import { When } from "../../shared/time";
import type { DefinitionSet } from "./definitions";

/** Who made a version of the rules, when and why. */
export function Who({ version: { version, actor, created_at: at, note } }: { version: DefinitionSet }) {
  return (
    <>
      Version {version}
      {actor ? ` by key ${visible(actor)}` : ""}
      {at === null ? "" : <>, <When at={at} /></>}
      {note ? `: ${visible(note)}` : ""}
    </>
  );
}
