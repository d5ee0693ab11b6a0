import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { Readiness, SettingState } from "../../api/types";
import { visible } from "../../shared/ansi";
import { Tag } from "../../shared/marks";
import { Loaded } from "../../shared/states";

/** Whether what the server needs answers: what `assay doctor` looks at too. */
export function Needs() {
  const ready = useQuery({ queryKey: ["ready"], queryFn: () => get<Readiness>("/readyz"), refetchInterval: 10_000 });
  return (
    <section className="panel" aria-label="What the server needs">
      <h2>What the server needs</h2>
      <Loaded query={ready}>
        {({ dependencies }) => (
          <dl className="facts">
            {Object.entries(dependencies).map(([name, { state, reason }]) => (
              <div key={name} style={{ display: "contents" }}>
                <dt>{name}</dt>
                <dd>
                  <Tag tone={state === "ok" ? "good" : "bad"}>{state === "ok" ? "answers" : state}</Tag> {visible(reason ?? "")}
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  );
}

/** The gateway's settings: those that the environment sets, or all of them. */
export function Effective() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: () => get<{ items: SettingState[] }>("/v1/settings") });
  const [all, setAll] = useState(false);
  return (
    <section className="panel stack" aria-label="The gateway's settings">
      <span className="bar">
        <h2>The gateway's settings</h2>
        <button type="button" className="link" aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? "Only those that are set" : "With the defaults"}
        </button>
      </span>
      <Loaded query={settings}>
        {({ items }) => (
          <table className="grid-table wide wrap">
            <thead>
              <tr>
                <th>Variable</th>
                <th>Value</th>
                <th>From</th>
              </tr>
            </thead>
            <tbody>
              {items
                .filter((each) => all || each.source !== "default")
                .map((each) => (
                  <tr key={each.name} title={each.description}>
                    <td className="mono">{each.name}</td>
                    <td className="mono">{each.told ? visible(String(each.value ?? "–")) : <span className="muted">not told</span>}</td>
                    <td>{each.source}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        )}
      </Loaded>
      <span className="muted">Read when the gateway starts. Each worker has an environment of its own.</span>
    </section>
  );
}
