import { Button } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { get, post } from "../../../api/client";
import type { FlowView, FlowVersion, Page } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { WriteButton } from "../../../shared/editing/write-button";
import { Tag } from "../../../shared/values/marks";
import { count } from "../../../shared/values/numbers";
import { Failed, Loaded } from "../../../shared/page/loading-states";
import { When } from "../../../shared/values/time";
import { useChanges } from "./undo-labels";
import { Branch, Naming } from "./version-forms";
import { steps, through, type Step } from "./versions";

/** Every version with what is known of it. */
export function useSteps(flow: FlowView) {
  const client = useQueryClient();
  const versions = useInfiniteQuery({
    queryKey: ["flow-versions", flow.id],
    queryFn: ({ pageParam }) => get<Page<FlowVersion>>(`/v1/flows/${flow.id}/versions`, { limit: 100, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const changes = useChanges(flow.id);
  const read = (): void => {
    void client.invalidateQueries({ queryKey: ["flow-versions", flow.id] });
    void client.invalidateQueries({ queryKey: ["flow-history", flow.id] });
  };
  useEffect(read, [client, flow.id, flow.version]);
  const all = useMemo(() => steps(versions.data?.pages.flatMap((page) => page.items) ?? [], changes.data?.items ?? []), [versions.data, changes.data]);
  return { all, versions, read };
}

interface Props {
  flow: FlowView;
  chosen: number | null;
  history: ReturnType<typeof useSteps>;
  onChoose: (version: number | null) => void;
  onRestored: () => void;
}

/** Every version with its sentence, author, job and tokens; one is restored, named, or the beginning of another flow. */
export function History({ flow, chosen, history, onChoose, onRestored }: Props) {
  const { all, versions, read } = history;
  const at = chosen ?? flow.version;
  const name = all.find((step) => step.version === at)?.name ?? null;
  return (
    <section className="stack" aria-label="History">
      {chosen === null ? null : <Restore flow={flow} version={chosen} onChoose={onChoose} onRestored={onRestored} />}
      <div className="bar">
        <Branch key={`branch ${at}`} flow={flow} version={at} />
        <Naming key={`${at} ${name ?? ""}`} flowId={flow.id} version={at} name={name} onNamed={read} />
      </div>
      <Loaded query={versions}>
        {() => (
          <ol className="changes" aria-label="Changes">
            {all.map((step) => (
              <Entry key={step.version} step={step} current={step.version === at} onChoose={(version) => onChoose(version === flow.version ? null : version)} />
            ))}
            {versions.hasNextPage ? (
              <li>
                <Button variant="default" loading={versions.isFetchingNextPage} onClick={() => void versions.fetchNextPage()}>
                  Show older versions
                </Button>
              </li>
            ) : null}
          </ol>
        )}
      </Loaded>
    </section>
  );
}

/** An earlier version becomes the newest one again. */
export function Restore({ flow, version, onChoose, onRestored }: { flow: FlowView; version: number; onChoose: (version: number | null) => void; onRestored: () => void }) {
  const restore = useMutation({
    mutationFn: () => post(`/v1/flows/${flow.id}/versions/${version}/restore`, undefined, { "If-Match": `"v${flow.version}"` }),
    onSuccess: () => {
      onChoose(null);
      onRestored();
    },
    onError: onRestored,
  });
  return (
    <>
      <div className="bar">
        <WriteButton loading={restore.isPending} onClick={() => restore.mutate()}>
          Restore version {version}
        </WriteButton>
        <Button variant="default" onClick={() => onChoose(null)}>
          Back to the present
        </Button>
      </div>
      {restore.error === null ? null : <Failed error={restore.error} />}
    </>
  );
}

function Entry({ step, current, onChoose }: { step: Step; current: boolean; onChoose: (version: number) => void }) {
  const { change } = step;
  return (
    <li className="version" aria-current={current || undefined}>
      <div className="version-line">
        <button type="button" className="link" aria-label={`Show version ${step.version}`} onClick={() => onChoose(step.version)}>
          v{step.version}
        </button>
        <span className={change?.undone ? "struck" : ""}>{visible(step.sentence)}</span>
        {step.name === null ? null : <Tag tone="accent">{visible(step.name)}</Tag>}
        {change?.undone ? <span className="muted">undone</span> : null}
        {step.source ? <Source {...step.source} /> : null}
      </div>
      <div className="version-more muted">
        {change === null ? null : `${through(change.origin)} · `}
        {visible(step.author)} · <When at={step.time} />
        {change?.job_id ? (
          <>
            {" · "}
            <Link to="/jobs/$id" params={{ id: change.job_id }} className="plain">
              {count(change.tokens)} tokens
            </Link>
          </>
        ) : null}
      </div>
    </li>
  );
}

/** Where a branch comes from; of a flow that is gone only that. */
function Source({ flow_id, version, name }: NonNullable<Step["source"]>) {
  if (name === null) return <span className="muted">from version {version} of a flow that is gone</span>;
  return (
    <Link to="/flows/$id" params={{ id: flow_id }} search={{ version: String(version) } as never} className="plain">
      from version {version} of {visible(name)}
    </Link>
  );
}
