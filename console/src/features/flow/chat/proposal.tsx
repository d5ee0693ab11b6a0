import { Checkbox } from "../../../shared/editing/checkbox";
import { useMutation, useQuery } from "@tanstack/react-query";
import { get, post } from "../../../api/client";
import type { FlowView, Job } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Failed, Loaded } from "../../../shared/page/loading-states";
import { WriteButton } from "../../../shared/editing/write-button";
import type { Operation } from "../../../shared/flows/elements";
import { nameOf, words } from "../canvas/outline";

interface View {
  state: "open" | "applied" | "discarded";
  base_version: number;
  summary: string;
  operations: Operation[];
  lint: { code: string; message: string }[];
}

interface Props {
  flow: FlowView;
  id: string;
  /** The places of the operations that are not to be done. */
  left: ReadonlySet<number>;
  onLeave: (left: ReadonlySet<number>) => void;
  onDecided: () => void;
  onAsked: (job: string) => void;
}

/** The places that an address names as "1,3". */
export function leftOf(text: string | undefined): ReadonlySet<number> {
  return new Set((text ?? "").split(",").filter((part) => /^\d+$/.test(part)).map(Number));
}

/** What nodes are called once the operations are done. */
function namesWith(flow: FlowView, operations: readonly Operation[]): (id: string) => string {
  const added = new Map(operations.flatMap(({ kind, id, value }): [string, string][] => (kind === "node" ? [[id, (value as { data?: { label?: string } } | undefined)?.data?.label ?? ""]] : [])));
  return (id) => added.get(id) || nameOf(flow, "node", id);
}

/** What a model would change, operation by operation: all of it, some, or none. */
export function Proposal({ flow, id, left, onLeave, onDecided, onAsked }: Props) {
  const base = `/v1/flows/${flow.id}/proposals/${id}`;
  const query = useQuery({ queryKey: ["proposal", flow.id, id], queryFn: () => get<View>(base) });
  const decide = useMutation({
    mutationFn: (accept: number[] | "discard") => (accept === "discard" ? post(`${base}/discard`) : post(`${base}/apply`, { accept })),
    onSuccess: onDecided,
  });
  const again = useMutation({
    mutationFn: async (summary: string) => {
      // A proposal is called as its job, which has all that was said; of one that is gone there is the beginning.
      const before = await get<Job>(`/v1/jobs/${id}`).catch(() => null);
      const said = (before?.input as { message?: string } | undefined)?.message ?? summary;
      const more = before?.conversation_id ? { conversation_id: before.conversation_id } : {};
      return post<Job>("/v1/jobs", { kind: "flow", input: { flow_id: flow.id, message: said, mode: "propose" }, ...more });
    },
    onSuccess: (job) => onAsked(job.id),
  });
  return (
    <section className="proposal" aria-label="Proposal">
      <Loaded query={query}>
        {(proposal) => {
          const open = proposal.state === "open";
          const stale = open && proposal.base_version !== flow.version;
          const name = namesWith(flow, proposal.operations);
          const taken = proposal.operations.map((_, index) => index).filter((index) => !left.has(index));
          return (
            <>
              <div className="proposal-head">
                <h2>Proposal: {visible(proposal.summary)}</h2>
                <Counts operations={proposal.operations} />
              </div>
              {open ? null : <p className="muted">The proposal is {proposal.state}.</p>}
              <div className="proposal-operations">
              {proposal.operations.map((operation, index) => (
                <Checkbox
                  key={index}
                  label={
                    <>
                      <span className={`sign ${operation.op}`}>{words(operation, name)[0]}</span> {visible(words(operation, name).slice(2))}
                    </>
                  }
                  checked={!left.has(index)}
                  disabled={!open || stale}
                  onChange={(event) => {
                    const next = new Set(left);
                    if (event.currentTarget.checked) next.delete(index);
                    else next.add(index);
                    onLeave(next);
                  }}
                />
              ))}
              </div>
              {proposal.lint.map((finding) => (
                <p key={finding.message} className="callout warn">
                  {visible(finding.message)}
                </p>
              ))}
              {!stale ? null : (
                <div className="callout warn tight" role="alert">
                  <span>
                    It was made on version {proposal.base_version}, and the flow is at version {flow.version} now: it cannot be accepted as it is.
                  </span>
                  <span className="bar">
                    <WriteButton loading={again.isPending} onClick={() => again.mutate(proposal.summary)}>
                      Propose again
                    </WriteButton>
                  </span>
                </div>
              )}
              {!open ? null : (
                <div className="bar">
                  <WriteButton disabled={taken.length === 0 || stale} loading={decide.isPending} onClick={() => decide.mutate(taken)}>
                    {taken.length === proposal.operations.length ? "Accept all" : `Accept ${taken.length} of ${proposal.operations.length}`}
                  </WriteButton>
                  <WriteButton variant="default" onClick={() => decide.mutate("discard")}>
                    Discard
                  </WriteButton>
                </div>
              )}
              {decide.error === null || stale ? null : <Failed error={decide.error} />}
              {again.error === null ? null : <Failed error={again.error} />}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

const COUNTED = [["add", "+", "added"], ["update", "~", "changed"], ["remove", "−", "removed"]] as const; // prettier-ignore

function Counts({ operations }: { operations: readonly Operation[] }) {
  return (
    <span className="proposal-counts">
      {COUNTED.map(([op, sign, words]) => {
        const number = operations.filter((each) => each.op === op).length;
        return number === 0 ? null : (
          <span key={op} className={`sign-count sign ${op}`} title={words}>
            {sign}
            {number}
          </span>
        );
      })}
    </span>
  );
}
