import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Doctor, Readiness } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { StateMark } from "../../shared/values/marks";
import { HEALTH_STATES, type State } from "../../shared/values/states";
import { Callout } from "../../shared/page/callout";
import { Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";

const CHECKED = {
  ok: { word: "OK", icon: "check", tone: "good" },
  broken: { word: "Broken", icon: "cross", tone: "bad" },
  attention: { word: "Needs attention", icon: "triangle", tone: "warn" },
} as const satisfies Record<string, State>;

/** Whether what the server needs answers: all that a key without `admin` may know. */
export function Needs() {
  const ready = useQuery({ queryKey: ["ready"], queryFn: () => get<Readiness>("/readyz"), refetchInterval: 10_000 });
  return (
    <section aria-label="What the server needs">
      <div className="sec">
        <h2>What the server needs</h2>
      </div>
      <Loaded query={ready}>
        {({ dependencies }) => (
          <dl className="facts list">
            {Object.entries(dependencies).map(([name, { state, reason }]) => (
              <div key={name} style={{ display: "contents" }}>
                <dt>{name}</dt>
                <dd>
                  <StateMark of={HEALTH_STATES[state]} /> {visible(reason ?? "")}
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Loaded>
    </section>
  );
}

/** What `assay doctor` checks and the server can see: what is not well first, each with what to do. */
export function Checks() {
  const doctor = useQuery({ queryKey: ["doctor"], queryFn: () => get<Doctor>("/v1/doctor"), refetchInterval: 10_000 });
  return (
    <section aria-label="Checks">
      <div className="sec">
        <h2>Health</h2>
      </div>
      <Loaded query={doctor}>{(told) => <Told of={told} />}</Loaded>
    </section>
  );
}

function Told({ of: { items, version, python, started_at } }: { of: Doctor }) {
  const wrong = [...items.filter((check) => !check.ok && check.grave), ...items.filter((check) => !check.ok && !check.grave)];
  const well = items.filter((check) => check.ok);
  return (
    <div className="stack">
      <Callout tone={wrong.length === 0 ? "good" : wrong[0]!.grave ? "bad" : "warn"} className="tight">
        <b>{wrong.length === 0 ? `All ${well.length} checks passed` : `${wrong.length} of ${items.length} checks ${wrong.length === 1 ? "needs" : "need"} attention`}</b>
        <span>
          Assay {version}, Python {python}, this gateway since <When at={started_at} />
        </span>
      </Callout>
      {wrong.length === 0 ? null : <List of={wrong} />}
      <details>
        <summary>{wrong.length === 0 ? "Show the checks" : `Show the ${well.length} checks that passed`}</summary>
        <List of={well} />
      </details>
    </div>
  );
}

function List({ of }: { of: Doctor["items"] }) {
  return (
    <dl className="facts list">
      {of.map((check) => (
        <div key={check.name} style={{ display: "contents" }}>
          <dt>{check.name}</dt>
          <dd className="tight">
            <span className="bar">
              <StateMark of={check.ok ? CHECKED.ok : check.grave ? CHECKED.broken : CHECKED.attention} /> {visible(check.finding)}
            </span>
            {check.remedy ? <span>{check.remedy}</span> : null}
          </dd>
        </div>
      ))}
    </dl>
  );
}
