import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Doctor, Readiness } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { StateMark } from "../../shared/values/marks";
import { HEALTH_STATES, type State } from "../../shared/values/states";
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
    <section className="panel" aria-label="What the server needs">
      <h2>What the server needs</h2>
      <Loaded query={ready}>
        {({ dependencies }) => (
          <dl className="facts">
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
    <section className="panel stack" aria-label="Checks">
      <h2>Checks of the installation</h2>
      <Loaded query={doctor}>
        {({ items, version, python, started_at }) => (
          <>
            <span className="muted">
              Assay {version}, Python {python}, this gateway since <When at={started_at} />
            </span>
            <dl className="facts">
              {[...items]
                .sort((left, right) => Number(left.ok) - Number(right.ok))
                .map((check) => (
                  <div key={check.name} style={{ display: "contents" }}>
                    <dt>{check.name}</dt>
                    <dd className="tight">
                      <span>
                        <StateMark of={check.ok ? CHECKED.ok : check.grave ? CHECKED.broken : CHECKED.attention} /> {visible(check.finding)}
                      </span>
                      {check.remedy ? <span>{check.remedy}</span> : null}
                    </dd>
                  </div>
                ))}
            </dl>
          </>
        )}
      </Loaded>
    </section>
  );
}
