import { Checkbox } from "../../shared/editing/checkbox";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { ProviderState } from "../../api/types";
import { keysAreOn } from "../../app/keys";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { tierWords } from "../../shared/values/isolation";
import { StateMark } from "../../shared/values/marks";
import { KIND_STATES } from "../../shared/values/states";
import { Quotas } from "../../shared/page/quotas";
import { Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { REMEDIES, useCapabilities } from "../../shared/page/readiness";
import { Checks, Needs } from "./checks";
import { Effective } from "./effective";

export function Page() {
  useTitle("Settings");
  const capabilities = useCapabilities();
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<{ items: ProviderState[] }>("/v1/providers") });
  const session = useSession();
  const [keys, setKeys] = useState(keysAreOn());
  return (
    <>
      <div className="head">
        <h1>Settings</h1>
      </div>
      <div className="cols even">
        <div className="stack">
          <section className="panel" aria-label="Capabilities">
            <h2>Job types</h2>
            <Loaded query={capabilities}>
              {(data) => (
                <>
                  <dl className="facts">
                    {Object.entries(data.kinds).map(([kind, { state, reason }]) => (
                      <div key={kind} style={{ display: "contents" }}>
                        <dt>{kind}</dt>
                        <dd className="tight">
                          <span>
                            <StateMark of={KIND_STATES[state]} /> {reason ? <span className="muted">{visible(reason)}</span> : null}
                          </span>
                          {REMEDIES[state] === undefined ? null : <span>{REMEDIES[state]}</span>}
                        </dd>
                      </div>
                    ))}
                    <dt>Version</dt>
                    <dd>Assay {data.version ?? "unknown"}</dd>
                    <dt>Sandbox</dt>
                    <dd>
                      {tierWords(data.isolation.tier)}
                      {data.isolation.minimum === data.isolation.tier ? " (required)" : `; required: ${tierWords(data.isolation.minimum)}`}
                    </dd>
                    {Object.entries(data.languages).map(([name, language]) => (
                      <div key={name} style={{ display: "contents" }}>
                        <dt>{name}</dt>
                        <dd>{language.available ? (language.version ?? "Available") : `Not installed${language.reason ? `: ${visible(language.reason)}` : ""}`}</dd>
                      </div>
                    ))}
                  </dl>
                </>
              )}
            </Loaded>
          </section>
          <Quotas title="Limits of your tenant" all />
          {session?.scopes.includes("admin") ? <Effective /> : null}
        </div>
        <div className="stack">
          {session?.scopes.includes("admin") ? <Checks /> : <Needs />}
          <section className="panel" aria-label="Providers">
            <h2>Provider keys</h2>
            <Loaded query={providers}>
              {({ items }) => (
                <dl className="facts">
                  {items.map((provider) => (
                    <div key={provider.name} style={{ display: "contents" }}>
                      <dt>{provider.name}</dt>
                      <dd>{provider.configured ? "Set" : "Not set"}</dd>
                    </div>
                  ))}
                </dl>
              )}
            </Loaded>
          </section>
          <section className="panel stack" aria-label="This browser">
            <h2>This browser</h2>
            {session === undefined ? null : (
              <dl className="facts">
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
        </div>
      </div>
    </>
  );
}
