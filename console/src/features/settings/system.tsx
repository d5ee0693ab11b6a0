import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { ProviderState } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { tierWords } from "../../shared/values/isolation";
import { StateMark } from "../../shared/values/marks";
import { KIND_STATES } from "../../shared/values/states";
import { Loaded } from "../../shared/page/loading-states";
import { REMEDIES, useCapabilities } from "../../shared/page/readiness";
import { Checks, Needs } from "./checks";
import { Effective } from "./effective";

/** What the installation can do, what is not well with it, and the settings that it runs with. */
export function System() {
  const admin = useSession()?.scopes.includes("admin") ?? false;
  return (
    <div className="sections">
      {admin ? <Checks /> : <Needs />}
      <div className="cols even">
        <JobTypes />
        <div className="sections">
          <Sandbox />
          <ProviderKeys />
        </div>
      </div>
      {admin ? <Effective /> : null}
    </div>
  );
}

function JobTypes() {
  const capabilities = useCapabilities();
  return (
    <section aria-label="Capabilities">
      <div className="sec">
        <h2>Job types</h2>
      </div>
      <Loaded query={capabilities}>
        {(data) => (
          <dl className="facts list">
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
          </dl>
        )}
      </Loaded>
    </section>
  );
}

/** Where code runs, and in which languages. */
function Sandbox() {
  const capabilities = useCapabilities();
  return (
    <section aria-label="Where code runs">
      <div className="sec">
        <h2>Sandbox</h2>
      </div>
      <Loaded query={capabilities}>
        {(data) => (
          <dl className="facts list">
            <dt>Isolation</dt>
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
        )}
      </Loaded>
    </section>
  );
}

function ProviderKeys() {
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<{ items: ProviderState[] }>("/v1/providers") });
  return (
    <section aria-label="Providers">
      <div className="sec">
        <h2>Provider keys</h2>
      </div>
      <Loaded query={providers}>
        {({ items }) => (
          <dl className="facts list">
            {items.map((provider) => (
              <div key={provider.name} style={{ display: "contents" }}>
                <dt>{provider.name}</dt>
                <dd>{provider.configured ? <StateMark of={{ word: "Set", icon: "tick", tone: "good" }} /> : <StateMark of={{ word: "Not set", icon: "minus", tone: "neutral" }} />}</dd>
              </div>
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  );
}
