import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { get } from "../../../api/client";
import type { FlowView, FlowVersion, Page } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Tag } from "../../../shared/values/marks";
import { count } from "../../../shared/values/numbers";
import { Loaded } from "../../../shared/page/loading-states";
import { When } from "../../../shared/values/time";
import type { Frame } from "./playback";
import { useChanges } from "./undo-labels";
import { Scrubber } from "./scrubber";
import { steps, through, type Step } from "./versions";

interface Props {
  flow: FlowView;
  chosen: number | null;
  frame: { data: Frame | undefined; error: unknown };
  speed: string;
  onSpeed: (speed: string) => void;
  onChoose: (version: number | null) => void;
  onRestored: () => void;
}

/** Every version with its sentence, author, job and tokens, and the film of them. */
export function History({ flow, chosen, onChoose, ...film }: Props) {
  const base = `/v1/flows/${flow.id}`;
  const client = useQueryClient();
  const versions = useInfiniteQuery({
    queryKey: ["flow-versions", flow.id],
    queryFn: ({ pageParam }) => get<Page<FlowVersion>>(`${base}/versions`, { limit: 100, cursor: pageParam }),
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
  const choose = (version: number | null): void => onChoose(version === flow.version ? null : version);
  const at = chosen ?? flow.version;
  return (
    <section className="panel stack" aria-label="History">
      <Scrubber flow={flow} chosen={chosen} step={all.find((step) => step.version === at)} onChoose={choose} onNamed={read} {...film} />
      <Loaded query={versions}>
        {() => (
          <ol className="tight plain-list" aria-label="Changes">
            {all.map((step) => (
              <Entry key={step.version} step={step} current={step.version === at} onChoose={choose} />
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

function Entry({ step, current, onChoose }: { step: Step; current: boolean; onChoose: (version: number) => void }) {
  const { change } = step;
  return (
    <li className="bar version" aria-current={current || undefined}>
      <button type="button" className="link mono" aria-label={`Show version ${step.version}`} onClick={() => onChoose(step.version)}>
        v{step.version}
      </button>
      {step.name === null ? null : <Tag tone="accent">{visible(step.name)}</Tag>}
      <span className={change?.undone ? "struck" : change === null ? "muted" : ""}>{visible(step.sentence)}</span>
      {change?.undone ? <span className="muted">undone</span> : null}
      {step.source ? <Source {...step.source} /> : null}
      <span className="spacer" />
      {change?.job_id ? (
        <Link to="/jobs/$id" params={{ id: change.job_id }} className="plain">
          {count(change.tokens)} tokens
        </Link>
      ) : null}
      <span className="muted">
        {change === null ? null : `${through(change.origin)}, `}
        {visible(step.author)}
      </span>
      <When at={step.time} />
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
