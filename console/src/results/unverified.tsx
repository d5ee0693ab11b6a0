import type { TransformResult } from "../api/types";
import { visible } from "../shared/code/ansi";

/** What speaks against a result or an attempt. */
export function Unverified({ words, reasons }: { words: string; reasons: NonNullable<TransformResult["unverified_because"]> }) {
  return (
    <div className="callout warn">
      <p>{words}</p>
      <ul>
        {reasons.map((reason, index) => (
          <li key={index}>{visible(reason.message)}</li>
        ))}
      </ul>
    </div>
  );
}
