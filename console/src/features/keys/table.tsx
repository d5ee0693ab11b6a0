import { useState } from "react";
import type { KeyInfo } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { When } from "../../shared/values/time";
import { Revoke, Rotate } from "./revoke-rotate";
import { SCOPES } from "./scopes";
import { TableHead } from "../../shared/tables/table-head";

/** All keys that one may see; each is revoked at once, or replaced by another that the old one outlives for a while. */
export function KeyTable({ keys, own, onDone }: { keys: readonly KeyInfo[]; own: string | undefined; onDone: () => void }) {
  const [asked, setAsked] = useState<{ key: KeyInfo; to: "revoke" | "rotate" } | null>(null);
  const [all, setAll] = useState(false);
  // Every sign-in makes one, and ends by itself.
  const shown = all ? keys : keys.filter((key) => !key.parent_id || key.id === own);
  const left = keys.length - shown.length;
  return (
    <>
      <div className="scroll tall" tabIndex={0} role="region" aria-label="Keys">
        <table className="grid-table wide wrap">
          <TableHead columns={["Name", "Tenant", "Scopes", "Made", "Last used", "Ends", ""]} />
          <tbody>
            {shown.map((key) => (
              <tr key={key.id}>
                <td>
                  {visible(key.name)} <span className="mono muted">{key.id}</span> {key.id === own ? <Tag tone="accent">this browser</Tag> : key.parent_id ? <Tag>session</Tag> : null}
                </td>
                <td>{key.tenant}</td>
                <td title={key.scopes.map((scope) => `${scope}: ${SCOPES[scope] ?? ""}`).join("\n")}>{key.scopes.join(", ")}</td>
                <td>
                  <When at={key.created_at} />
                </td>
                <td>{key.last_used_at ? <When at={key.last_used_at} /> : "never"}</td>
                <td>{key.revoked_at ? <Tag tone="bad">revoked</Tag> : key.expires_at ? <When at={key.expires_at} /> : "never"}</td>
                <td>
                  {key.revoked_at ? null : (
                    <span className="bar">
                      {key.parent_id ? null : (
                        <button type="button" className="link" onClick={() => setAsked({ key, to: "rotate" })}>
                          Rotate
                        </button>
                      )}
                      <button type="button" className="link" onClick={() => setAsked({ key, to: "revoke" })}>
                        Revoke
                      </button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {asked?.to === "revoke" ? <Revoke of={asked.key} onClose={() => setAsked(null)} onDone={onDone} /> : null}
        {asked?.to === "rotate" ? <Rotate of={asked.key} onClose={() => setAsked(null)} onDone={onDone} /> : null}
      </div>
      {left === 0 && !all ? null : (
        <button type="button" className="link" onClick={() => setAll(!all)}>
          {all ? "Without the sessions" : `And ${left} ${left === 1 ? "session" : "sessions"} of browsers`}
        </button>
      )}
    </>
  );
}
