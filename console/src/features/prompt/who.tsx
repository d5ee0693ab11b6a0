import type { Prompt } from "../../api/types";
import { visible } from "../../shared/ansi";
import { When } from "../../shared/time";

/** Who made a version, when and why. */
export function Who({ version }: { version: Prompt }) {
  return (
    <>
      Version {version.version}
      {version.actor ? ` by ${visible(version.actor)}` : ""}, <When at={version.updated_at} />
      {version.note ? `: ${visible(version.note)}` : ""}
    </>
  );
}
