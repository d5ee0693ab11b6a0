import { Button, Checkbox } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post, Problem } from "../../api/client";
import type { FlowView } from "../../api/types";
import { visible } from "../../shared/ansi";
import { Failed, Loaded } from "../../shared/states";
import { WriteButton } from "../../shared/write";
import { words, type Operation } from "./graph";

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
  onDecided: () => void;
  onAskAgain: () => void;
}

/** What a model would change, operation by operation: all of it, some, or none. */
export function Proposal({ flow, id, onDecided, onAskAgain }: Props) {
  const base = `/v1/flows/${flow.id}/proposals/${id}`;
  const query = useQuery({ queryKey: ["proposal", flow.id, id], queryFn: () => get<View>(base) });
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set());
  const decide = useMutation({
    mutationFn: (accept: number[] | "discard") => (accept === "discard" ? post(`${base}/discard`) : post(`${base}/apply`, { accept })),
    onSuccess: onDecided,
  });
  const stale = decide.error instanceof Problem && decide.error.status === 412;
  return (
    <section className="panel stack" aria-label="Proposal">
      <Loaded query={query}>
        {(proposal) => {
          const taken = proposal.operations.map((_, index) => index).filter((index) => !left.has(index));
          return (
            <>
              <h2>Proposal: {visible(proposal.summary)}</h2>
              {proposal.state !== "open" ? <p className="muted">It is {proposal.state}.</p> : null}
              {proposal.operations.map((operation, index) => (
                <Checkbox
                  key={index}
                  label={<span className="mono">{visible(words(operation))}</span>}
                  checked={!left.has(index)}
                  disabled={proposal.state !== "open"}
                  onChange={(event) => {
                    const next = new Set(left);
                    if (event.currentTarget.checked) next.delete(index);
                    else next.add(index);
                    setLeft(next);
                  }}
                />
              ))}
              {proposal.lint.map((finding) => (
                <p key={finding.message} className="callout warn">
                  {visible(finding.message)}
                </p>
              ))}
              {proposal.state !== "open" ? null : (
                <div className="bar">
                  <WriteButton disabled={taken.length === 0} loading={decide.isPending} onClick={() => decide.mutate(taken)}>
                    {taken.length === proposal.operations.length ? "Accept all" : `Accept ${taken.length} of ${proposal.operations.length}`}
                  </WriteButton>
                  <WriteButton variant="default" onClick={() => decide.mutate("discard")}>
                    Accept none
                  </WriteButton>
                </div>
              )}
              {decide.error === null ? null : <Failed error={decide.error} />}
              {stale ? (
                <Button variant="default" onClick={onAskAgain}>
                  The flow has changed: ask again
                </Button>
              ) : null}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
