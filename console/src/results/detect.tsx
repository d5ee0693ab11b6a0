import type { DetectResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { bytes, cell } from "../shared/values/numbers";
import { took } from "../shared/values/time";
import { Axis, type Actions } from "./candidates";
import { Findings, Place } from "./evidence";

type Service = DetectResult["services"][number];

interface Props extends Actions {
  jobId: string;
  result: DetectResult;
}

/** Services, and for each axis the winner with its evidence; what was overruled is listed below with the rule that beat it. */
export function DetectResultView({ jobId, result, onDisable, onRule }: Props) {
  const total = Object.values(result.languages).reduce((sum, size) => sum + size, 0);
  return (
    <div className="stack">
      <div className="chips">
        <span>
          <b>{result.services.length}</b> {result.services.length === 1 ? "service" : "services"}
        </span>
        <span>
          <b>{result.stats.files}</b> files in <b>{took(result.stats.seconds)}</b>, <b>{result.stats.llm_calls}</b> model calls
        </span>
        {result.orchestrator ? <span>orchestrated by {visible(result.orchestrator)}</span> : null}
        {result.workspace ? (
          <span>
            {visible(result.workspace.manager)} workspace of {result.workspace.members.length}
          </span>
        ) : null}
      </div>
      <div aria-label="Languages" className="tight">
        {Object.entries(result.languages)
          .sort(([, one], [, other]) => other - one)
          .slice(0, 8)
          .map(([name, size]) => (
            <div key={name} className="bar">
              <span style={{ width: 110 }}>{visible(name)}</span>
              <meter min={0} max={total} value={size} aria-label={`${name}: ${((size / total) * 100).toFixed(1)} %`} style={{ width: 180 }} />
              <span className="muted">
                {((size / total) * 100).toFixed(1)} %, {bytes(size)}
              </span>
            </div>
          ))}
      </div>
      {result.services.map((service) => (
        <ServiceView key={service.path} jobId={jobId} service={service} onDisable={onDisable} onRule={onRule} />
      ))}
      <Findings jobId={jobId} findings={result.findings} />
    </div>
  );
}

function ServiceView({ jobId, service, onDisable, onRule }: { service: Service } & Omit<Props, "result">) {
  const kinds = [...new Set(service.candidates.map((candidate) => candidate.kind))];
  return (
    <details className="panel" open={service.path === "" || undefined}>
      <summary>
        {visible(service.name)} <span className="mono muted">{visible(service.path || "/")}</span> <Tag>{service.role}</Tag>{" "}
        {[...new Set(Object.values(service.primary).filter(Boolean).map(String))].map(visible).join(" · ")}
      </summary>
      <div className="stack">
        {kinds.map((kind) => (
          <Axis key={kind} jobId={jobId} kind={kind} candidates={service.candidates.filter((each) => each.kind === kind)} onDisable={onDisable} onRule={onRule} />
        ))}
        {service.versions.map((trail) => (
          <div key={trail.runtime}>
            <b>
              {visible(trail.runtime)} {visible(trail.value)}
            </b>{" "}
            from <span className="mono">{visible(trail.source)}</span> {trail.file ? <Place jobId={jobId} file={trail.file} line={trail.line} /> : null}
            {trail.eol ? <Tag tone="warn">out of support</Tag> : null}
            {trail.overridden.map((other, index) => (
              <span key={index} className="muted">
                {" "}
                › overruled <span className="mono">{visible(other.source)}</span> {visible(other.value)}
              </span>
            ))}
          </div>
        ))}
        {service.conflicts.map((conflict, index) => (
          <p key={index} className="callout warn">
            {conflict.kind}: believed {visible(conflict.winner ?? "none")} by <span className="mono">{visible(conflict.rule)}</span>; said was {visible(conflict.claims.map(cell).join(" · "))}
          </p>
        ))}
        {service.warnings.map((warning) => (
          <p key={warning} className="callout warn">
            {visible(warning)}
          </p>
        ))}
        {service.backing_services?.length ? (
          <div className="tight">
            <span className="muted">uses over the network</span>
            {service.backing_services.map((backing) => (
              <div key={backing.id} className="bar">
                {visible(backing.name)} <Tag>{backing.category}</Tag>
                {backing.evidence.slice(0, 3).map((evidence, index) => (
                  <Place key={index} jobId={jobId} file={evidence.file} line={evidence.line} />
                ))}
              </div>
            ))}
          </div>
        ) : null}
        <Facts jobId={jobId} service={service} />
      </div>
    </details>
  );
}

type Origin = NonNullable<Service["runtime"]["trail"]>["command"];

function Facts({ jobId, service }: { jobId: string; service: Service }) {
  const { build, runtime } = service;
  const { trail } = runtime;
  const lines: [string, string, Origin?][] = [
    ["build", (build.commands ?? []).join(" && ")],
    ["packages", (build.packages ?? []).join(", ")],
    ["cache", (build.cache ?? []).join(", ")],
    ["start", (runtime.command ?? []).join(" "), trail?.command],
    ["ports", (runtime.ports ?? []).join(", "), trail?.ports],
    ["health", runtime.health?.endpoint ?? "", trail?.health],
  ];
  return (
    <dl className="facts">
      {lines
        .filter(([, value]) => value !== "")
        .map(([name, value, origin]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd className="mono">
              {visible(value)}{" "}
              {origin?.evidence ? (
                <Place jobId={jobId} file={origin.evidence.file} line={origin.evidence.line} />
              ) : origin ? (
                <span className="muted">default</span>
              ) : null}
            </dd>
          </div>
        ))}
    </dl>
  );
}
