import { useState } from "react";
import { keysAreOn } from "../../app/keys";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { Checkbox } from "../../shared/editing/checkbox";
import { When } from "../../shared/values/time";

/** Who is signed in here, and what this browser keeps for itself. */
export function ThisBrowser() {
  const session = useSession();
  const [keys, setKeys] = useState(keysAreOn());
  return (
    <section className="stack" aria-label="This browser">
      {session === undefined ? null : (
        <dl className="facts list">
          <dt>Tenant</dt>
          <dd>{session.tenant}</dd>
          <dt>Key</dt>
          <dd>
            {visible(session.name)} <span className="mono">{session.key_id}</span>
          </dd>
          <dt>Scopes</dt>
          <dd>{session.scopes.join(", ")}</dd>
          <dt>Expires</dt>
          <dd>{session.expires_at ? <When at={session.expires_at} /> : "Never"}</dd>
        </dl>
      )}
      <Checkbox
        label="Keyboard shortcuts (g j, /, j, k; all of them: ?)"
        checked={keys}
        onChange={(event) => {
          localStorage.setItem("assay.keys", event.currentTarget.checked ? "on" : "off");
          setKeys(event.currentTarget.checked);
        }}
      />
    </section>
  );
}
