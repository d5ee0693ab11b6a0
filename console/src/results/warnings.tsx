import { visible } from "../shared/code/ansi";

/** What a job warns of, in one place however much it is. */
export function Warnings({ of }: { of: readonly string[] | undefined }) {
  if (of === undefined || of.length === 0) return null;
  return (
    <div className="callout warn">
      {of.map((warning) => (
        <div key={warning}>{visible(warning)}</div>
      ))}
    </div>
  );
}
