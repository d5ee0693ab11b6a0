import type { DefinitionSet } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { When } from "../../shared/values/time";

/** VersionAuthor made a version of the rules, when and why. */
export function VersionAuthor({ version: { version, actor, created_at: at, note } }: { version: DefinitionSet }) {
  return (
    <>
      Version {version}
      {actor ? ` by key ${visible(actor)}` : ""}
      {at === null ? "" : <>, <When at={at} /></>}
      {note ? `: ${visible(note)}` : ""}
    </>
  );
}
