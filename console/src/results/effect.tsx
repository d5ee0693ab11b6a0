import type { Effect, Iteration } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { assertable, type Measured } from "./assertions";

/** How the caller's assertions held of a result. */
export function AssertionMarks({ checks }: { checks: NonNullable<Iteration["assertions"]> }) {
  if (checks.length === 0) return null;
  return (
    <section aria-label="Assertions">
      {checks.map((check) => (
        <div key={check.text} className={`check ${check.holds ? "good" : "bad"}`}>
          <span>{check.holds ? "✓" : "✗"}</span>
          <code>{visible(check.text)}</code> <span className="muted">{visible(check.detail)}</span>
        </div>
      ))}
    </section>
  );
}

/** What the code did to the data, line by line; a line that can be demanded becomes an assertion by a click. */
export function EffectView({ effect, of, onAssert }: { effect: Effect; of: Measured; onAssert?: (text: string) => void }) {
  const lines = assertable(effect, of);
  return (
    <section className="panel" aria-label="Effect">
      <h3>Changes to the data</h3>
      {effect.no_op ? <p className="callout warn">Nothing: the result is the input.</p> : null}
      <table className="grid-table wide wrap">
        <tbody>
          {lines.map((line) => (
            <tr key={line.what}>
              <td>{visible(line.what)}</td>
              <td className="mono">
                {line.before === null ? null : (
                  <>
                    {visible(line.before)} → <b>{visible(line.after ?? "")}</b>
                  </>
                )}
                {line.before === null ? visible(line.after ?? "") : null}
              </td>
              <td>
                {line.kept ? <Tag tone="good">unchanged</Tag> : null}
                {line.assertion !== null && onAssert !== undefined ? (
                  <button type="button" className="link" onClick={() => onAssert(line.assertion!)} title={`Require in every run: ${line.assertion}`}>
                    assert <code>{visible(line.assertion)}</code>
                  </button>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
