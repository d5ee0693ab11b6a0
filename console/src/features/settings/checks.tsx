import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Doctor, Readiness } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";

/** Whether what the server needs answers: all that a key without `admin` is told. */
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
                        <Tag tone={check.ok ? "good" : check.grave ? "bad" : "warn"}>{check.ok ? "✓ well" : check.grave ? "✗ broken" : "! look"}</Tag> {visible(check.finding)}
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
