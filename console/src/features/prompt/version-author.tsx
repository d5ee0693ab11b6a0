import type { Prompt } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { When } from "../../shared/values/time";

/** VersionAuthor made a version, when and why. */
export function VersionAuthor({ version }: { version: Prompt }) {
  return (
    <>
      Version {version.version}
      {version.actor ? ` by ${visible(version.actor)}` : ""}, <When at={version.updated_at} />
      {version.note ? `: ${visible(version.note)}` : ""}
    </>
  );
}
