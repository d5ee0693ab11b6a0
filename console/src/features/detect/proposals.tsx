import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import type { Page } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";

type Proposal = components["schemas"]["Proposal"];

const TONES = { open: "accent", promoted: "good", dismissed: "" } as const;
const SIGNS = { open: "○", promoted: "✓", dismissed: "✗" } as const;

/** Technologies that models named and no rule knows, each as the rule that it would be, with what speaks for it. */
export function Proposals({ onChanged }: { onChanged: () => void }) {
  const [url, change] = useUrl();
  const query = useQuery({ queryKey: ["definitions", "proposals"], queryFn: () => get<Page<Proposal>>("/v1/stacks/proposals", { at_least: 1, limit: 200 }) });
  return (
    <section className="tight" aria-label="Proposed rules">
      <h3>Proposed</h3>
      <Loaded query={query} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <span className="muted">Nothing: no model has named a technology that the rules do not know.</span>
          ) : (
            <>
              {items.map((each) => {
                const key = `${each.kind}/${each.id}`;
                const isOpen = url.proposal === key;
                return (
                  <div key={key} className="tight">
                    <div className="bar">
                      <button type="button" className="link" aria-expanded={isOpen} onClick={() => change({ proposal: isOpen ? null : key })}>
                        {visible(each.name)}
                      </button>
                      <Tag tone={TONES[each.state]}>
                        {SIGNS[each.state]} {each.state}
                      </Tag>
                      <span className="muted">
                        {each.kind.replace("_", " ")}, in {some(each.jobs, "job")}, last <When at={each.sightings[0]?.at} />
                      </span>
                    </div>
                    {isOpen ? <Opened proposal={each} onChanged={onChanged} /> : null}
                  </div>
                );
              })}
            </>
          )
        }
      </Loaded>
    </section>
  );
}

/** Why it is proposed, the rule that would be added, and what can be done. */
function Opened({ proposal, onChanged }: { proposal: Proposal; onChanged: () => void }) {
  const path = `/v1/stacks/proposals/${proposal.kind}/${proposal.id}`;
  const decide = useMutation({ mutationFn: (what: "promote" | "dismiss") => post(`${path}/${what}`), onSuccess: onChanged });
  return (
    <div className="callout tight">
      <span>
        Named in {some(proposal.jobs, "job")} on {some(proposal.sources, "source")}, with a confidence of {proposal.confidence.toFixed(2)}
        {proposal.resembles ? `; spelled much like ${visible(proposal.resembles)}, which is known` : ""}
      </span>
      {proposal.decided_at ? (
        <span className="muted">
          {proposal.state} <When at={proposal.decided_at} />
          {proposal.decided_by ? (
            <>
              {" "}
              by key <span className="mono">{visible(proposal.decided_by)}</span>
            </>
          ) : null}
        </span>
      ) : null}
      {proposal.sightings.map((sighting) => (
        <div key={`${sighting.job_id} ${sighting.root}`} className="bar">
          <Link to="/detect" search={{ job: sighting.job_id } as never} className="plain">
            {visible(sighting.root || "/")}
          </Link>
          <span className="mono">{visible(sighting.files.map((file) => (file.line === null ? file.file : `${file.file}:${file.line}`)).join(", "))}</span>
          <span className="muted">{sighting.confidence.toFixed(2)}</span> <When at={sighting.at} />
        </div>
      ))}
      <pre className="code wrap" tabIndex={0} aria-label="Proposed rule">
        {ruleOf(proposal)
          .map((line) => `+ ${visible(line)}`)
          .join("\n")}
      </pre>
      {decide.error === null ? null : <Failed error={decide.error} />}
      <div className="bar">
        <WriteButton disabled={proposal.state === "promoted"} loading={decide.isPending} onClick={() => decide.mutate("promote")}>
          Add rule
        </WriteButton>
        <WriteButton variant="default" disabled={proposal.state !== "open"} loading={decide.isPending} onClick={() => decide.mutate("dismiss")}>
          Dismiss
        </WriteButton>
      </div>
    </div>
  );
}

function ruleOf({ definition }: Proposal): string[] {
  const { id, kind, name, files = [], weight } = definition;
  return [`id: ${id}`, `kind: ${kind}`, `name: ${name}`, `files: ${files.join(", ")}`, `weight: ${String(weight)}`];
}

function some(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
