import type { Check } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { scrollEnd } from "../shared/tables/scroll-end";

const WHOSE: Readonly<Record<Check["from"], string>> = { model: "stated by the model before it saw the result", assay: "always checked", caller: "asserted" };

/** What was checked of the result, and how many deliberately spoilt copies of it each of the model's own checks notices. */
export function Checks({ checks }: { checks: readonly Check[] }) {
  // What the caller asserted is listed above, with what was found instead.
  const own = checks.filter((check) => check.from !== "caller");
  if (own.length === 0) return null;
  const spoilt = [...new Set(own.flatMap((check) => [...(check.noticed ?? []), ...(check.missed ?? [])]))];
  return (
    <section className="panel" aria-label="Checks">
      <h3>What was checked of the result</h3>
      {own.map((check) => (
        <CheckLine key={`${check.from} ${check.text}`} check={check} />
      ))}
      {spoilt.length === 0 ? null : <Spoilt names={spoilt} checks={own} />}
    </section>
  );
}

function CheckLine({ check }: { check: Check }) {
  const noticed = check.noticed?.length ?? 0;
  const tried = noticed + (check.missed?.length ?? 0);
  return (
    <div className={`check ${check.held ? "good" : "bad"}`}>
      <span>{check.held ? "✓" : "✗"}</span>
      {check.from === "model" ? <code>{visible(check.text)}</code> : <span>{visible(check.text)}</span>}
      <span className="muted">
        {WHOSE[check.from]}
        {tried === 0 ? "" : `; fails on ${noticed} of ${tried} spoilt results`}
      </span>
    </div>
  );
}

/** Each spoilt result as a row, with a cell for every check that was tried on it. */
function Spoilt({ names, checks }: { names: readonly string[]; checks: readonly Check[] }) {
  const tried = checks.filter((check) => (check.noticed?.length ?? 0) + (check.missed?.length ?? 0) > 0);
  const by = (name: string): Check[] => tried.filter((check) => check.noticed?.includes(name));
  const seen = names.filter((name) => by(name).length > 0).length;
  return (
    <details>
      <summary>
        {seen} of {names.length} spoilt copies of the result would have been noticed
      </summary>
      <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label="Spoilt results">
        <table className="grid-table wide wrap">
          <thead>
            <tr>
              <th scope="col">The result, spoilt</th>
              <th scope="col">Noticed</th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <td>{visible(name)}</td>
                <td>{by(name).length > 0 ? <Tag tone="good">✓ noticed</Tag> : <Tag tone="warn">○ not noticed</Tag>}</td>
                <td className="mono">{visible(by(name).map((check) => check.text).join("; "))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
