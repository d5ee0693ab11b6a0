import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { Capabilities, ProviderState } from "../../api/types";
import { keysAreOn } from "../../app/keys";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { Tag } from "../../shared/marks";
import { Loaded } from "../../shared/states";
import { When } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { Checks, Needs } from "./checks";
import { Effective } from "./effective";

const REMEDIES: Readonly<Record<string, string>> = {
  needs_provider: "Set a provider's key on the server (GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY) and start it again.",
  no_worker: "Start its worker: `assay status` says which process does not run, its log says why.",
};

export function Page() {
  useTitle("Settings");
  const capabilities = useQuery({ queryKey: ["capabilities"], queryFn: () => get<Capabilities>("/v1/capabilities") });
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
          <section className="panel stack" aria-label="Capabilities">
            <h2>What can be done here</h2>
            <Loaded query={capabilities}>
              {(data) => (
                <>
                  {Object.entries(data.kinds).map(([kind, { state, reason }]) => (
                    <div key={kind} className="tight">
                      <span className="bar">
                        <b>{kind}</b> <Tag tone={state === "ready" ? "good" : state === "no_worker" ? "bad" : "warn"}>{state.replace("_", " ")}</Tag>
                      </span>
                      {reason ? <span className="muted">{visible(reason)}</span> : null}
                      {REMEDIES[state] === undefined ? null : <span>{REMEDIES[state]}</span>}
                    </div>
                  ))}
                  <dl className="facts">
                    <dt>isolation</dt>
                    <dd>
                      {data.isolation.tier}, at least {data.isolation.minimum}
                    </dd>
                    {Object.entries(data.languages).map(([name, language]) => (
                      <div key={name} style={{ display: "contents" }}>
                        <dt>{name}</dt>
                        <dd>{language.available ? (language.version ?? "available") : `not here: ${visible(language.reason ?? "")}`}</dd>
                      </div>
                    ))}
                  </dl>
                </>
              )}
            </Loaded>
          </section>
          {session?.scopes.includes("admin") ? <Effective /> : null}
        </div>
        <div className="stack">
          {session?.scopes.includes("admin") ? <Checks /> : <Needs />}
          <section className="panel" aria-label="Providers">
            <h2>Providers' keys</h2>
            <Loaded query={providers}>
              {({ items }) => (
                <dl className="facts">
                  {items.map((provider) => (
                    <div key={provider.name} style={{ display: "contents" }}>
                      <dt>{provider.name}</dt>
                      <dd>{provider.configured ? "set" : "not set"}</dd>
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
                <dt>tenant</dt>
                <dd>{session.tenant}</dd>
                <dt>key</dt>
                <dd>
                  {visible(session.name)} <span className="mono">{session.key_id}</span>
                </dd>
                <dt>may</dt>
                <dd>{session.scopes.join(", ")}</dd>
                <dt>until</dt>
                <dd>{session.expires_at ? <When at={session.expires_at} /> : "revoked"}</dd>
              </dl>
            )}
            <Switch
              label="Keys of the keyboard (g j, /, j, k)"
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
