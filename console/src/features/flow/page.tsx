import { toast } from "../../shared/page/toasts";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from "react";
import { get, getUnlessSame, Problem } from "../../api/client";
import type { FlowView } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { FlowDrop, useFlowFiles } from "../../shared/files/flow-files";
import { LiveTag, Tag } from "../../shared/values/marks";
import { Loaded, Loading } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { useWrite } from "../../shared/editing/write-button";
import { useArrows, type CanvasHandle } from "./canvas/arrow-keys";
import { linkedWith } from "./canvas/arrow-moves";
import { Chat } from "./chat/chat";
import { SelectedNodes } from "./editing/selected-nodes";
import { SelectedLink } from "./editing/selected-link";
import { SPEEDS, useFrame } from "./history/playback";
import { useEdits } from "./editing/edits";
import "./flow.css";
import { Export, Layout, Outline } from "./layout-export-outline";
import type { Operation } from "./canvas/elements";
import { drawn } from "./canvas/merged-graph";
import { outline } from "./canvas/outline";
import { AddAndLink } from "./editing/add-and-link";
import { History } from "./history/history";
import { useLiveFlow } from "./live-updates";
import { RenameDelete } from "./editing/rename-delete";
import { leftOf, Proposal } from "./chat/proposal";
import type { Call } from "./editing/announcements";
import { chosenOf, chosenText, sightOf, sightText, useSettled } from "./canvas/viewport";
import { UndoRefusal, useUndoRedo, UndoRedo } from "./history/undo-redo";

const Canvas = lazy(() => import("./canvas/canvas"));
const Overtaken = lazy(() => import("./editing/conflict"));

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string };
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ["flow", id],
    queryFn: () => getUnlessSame<FlowView>(`/v1/flows/${id}`, client.getQueryData(["flow", id])),
    structuralSharing: false,
  });
  const gone = query.data !== undefined && query.error instanceof Problem && query.error.status === 404;
  return (
    <>
      {gone ? (
        <p className="callout warn" role="alert">
          This flow was deleted. What stands here is how it was last; it cannot be changed or exported any more.
        </p>
      ) : null}
      <Loaded query={query}>{(flow) => <Flow key={flow.id} flow={flow} />}</Loaded>
    </>
  );
}

// The same one each time: what is drawn is computed anew only when something else is to be drawn.
const NONE: readonly Operation[] = [];

interface Proposed {
  state: string;
  operations: readonly Operation[];
}

function Flow({ flow }: { flow: FlowView }) {
  useTitle(`${flow.name} · version ${flow.version}`);
  const [url, change] = useUrl();
  const client = useQueryClient();
  const [chosen, setChosen] = useState(() => chosenOf(url.nodes));
  const settled = useSettled(change);
  const [link, setLink] = useState<string | null>(null);
  const choose = useCallback(
    (ids: string[], links: string[]) => {
      setChosen(ids);
      setLink(links.length === 1 && ids.length === 0 ? links[0]! : null);
      settled({ nodes: chosenText(ids) });
    },
    [settled],
  );
  const canvas = useRef<CanvasHandle>(null);
  const [words, say] = useState("");
  const base = `/v1/flows/${flow.id}`;
  const refresh = useCallback(() => void client.invalidateQueries({ queryKey: ["flow", flow.id] }), [client, flow.id]);
  const [ending, setEnding] = useState(false);
  const liveness = useLiveFlow(ending ? null : flow.id, flow.version, refresh);
  const past = pastOf(url.version, flow.version);
  const frame = useFrame(flow.id, past);
  const proposal = useQuery({ queryKey: ["proposal", flow.id, url.proposal], queryFn: () => get<Proposed>(`${base}/proposals/${url.proposal}`), enabled: url.proposal !== undefined });
  const film = past === null ? undefined : frame.data;
  const left = useMemo(() => leftOf(url.without), [url.without]);
  const proposed = past === null && proposal.data?.state === "open" ? proposal.data.operations : NONE;
  const taken = useMemo(() => (left.size === 0 ? proposed : proposed.filter((_, place) => !left.has(place))), [proposed, left]);
  const operations = film?.operations ?? taken;
  const shown = film?.flow ?? flow;
  const { nodes, edges } = useMemo(() => drawn(shown, operations, film?.before), [shown, operations, film?.before]);
  const lines = useMemo(() => outline(shown), [shown]);
  const edits = useEdits(flow, say, refresh, fault);
  const walk = useUndoRedo(flow, say, refresh);
  const files = useFlowFiles();
  const write = useWrite();
  const editable = past === null && proposed.length === 0 && write.may;
  const call: Call = (name, params, before) => edits.run([{ name, params }], before);
  const arrows = useArrows(canvas, edges, editable);
  const remove = (gone: string[], cut: string[]): void => {
    edits.run([...gone.map((nodeId) => ({ name: "deleteNode", params: { nodeId } })), ...(gone.length > 0 ? [] : cut.map((edgeId) => ({ name: "deleteEdge", params: { edgeId } })))]);
    // Who works by keys goes on beside what is gone.
    const beside = gone.flatMap((id) => [...linkedWith(edges, id)]).find((id) => !gone.includes(id));
    if (beside !== undefined) arrows.focus(beside);
  };
  return (
    <FlowDrop files={files}>
      <div className="head">
        <Link to="/flows" className="plain">
          Flows
        </Link>
        <h1 className="clip">{visible(flow.name)}</h1>
        <Tag>version {shown.version}</Tag>
        {past === null ? <LiveTag liveness={liveness} /> : <Tag tone="warn">earlier version, not editable</Tag>}
        <span className="spacer" />
        <UndoRedo flow={flow} walk={walk} disabled={past !== null} />
        <Layout base={base} onDone={refresh} onFault={fault} disabled={past !== null} />
        <Export base={base} name={flow.name} onFault={fault} />
        <RenameDelete flow={flow} onRenamed={refresh} onEnding={setEnding} />
      </div>
      <UndoRefusal flow={flow} walk={walk} />
      <Suspense>{edits.overtaken === null ? null : <Overtaken edit={edits.overtaken} flow={flow} onAgain={edits.again} onLeave={edits.drop} />}</Suspense>
      <p className="hidden" role="status" aria-label="What was done">
        {visible(words)}
      </p>
      <div className="flow-cols">
        <div className="stack">
          <div onKeyDownCapture={arrows.press}>
            <Suspense fallback={<Loading />}>
              <Canvas
                nodes={nodes}
                edges={edges}
                editable={editable}
                film={past !== null}
                chosen={chosen}
                sight={sightOf(url.sight)}
                handle={canvas}
                onMove={(moved) => edits.run(moved.map((params) => ({ name: "updateNode", params })))}
                onConnect={(sourceNodeId, targetNodeId) => call("addEdge", { sourceNodeId, targetNodeId })}
                onRemove={remove}
                onChoose={choose}
                onFold={(groupId, expand) => call("toggleGroupExpansion", { groupId, expand })}
                onSight={(sight) => settled({ sight: sightText(sight) })}
              />
            </Suspense>
          </div>
          {proposed.length === 0 || !write.may ? null : <p className="muted">What is proposed is drawn, in colour: accept it or none of it, then go on editing.</p>}
          <AddAndLink flow={flow} chosen={chosen[0] ?? null} disabled={!editable} call={call} />
          <SelectedNodes flow={flow} chosen={chosen} disabled={!editable} call={call} calls={edits.run} onRemove={(ids) => remove(ids, [])} />
          {link === null ? null : <SelectedLink key={link} flow={flow} id={link} disabled={!editable} call={call} />}
          <History
            flow={flow}
            chosen={past}
            frame={frame}
            speed={SPEEDS.find((each) => each === url.speed) ?? "1"}
            onSpeed={(speed) => change({ speed: speed === "1" ? null : speed })}
            onChoose={(version) => change({ version: version === null ? null : String(version) })}
            onRestored={refresh}
          />
        </div>
        <div className="stack">
          {url.proposal === undefined ? null : (
            <Proposal
              flow={flow}
              id={url.proposal}
              left={left}
              onLeave={(places) => change({ without: [...places].join(",") || null })}
              onDecided={() => (change({ proposal: null, without: null }), refresh())}
              onAsked={(job) => change({ proposal: null, without: null, job })}
            />
          )}
          <Chat flow={flow} jobId={url.job} onJob={(job) => change({ job })} onProposal={(id) => change({ proposal: id, without: null })} onChanged={refresh} />
          <Outline lines={lines} onShow={arrows.go} />
        </div>
      </div>
    </FlowDrop>
  );
}

/** The earlier version that the address names, if it does. */
function pastOf(version: string | undefined, last: number): number | null {
  const number = Number(version);
  return Number.isInteger(number) && number >= 1 && number < last ? number : null;
}

function fault(error: unknown): void {
  const problem = error instanceof Problem ? error : null;
  toast({ color: "red", title: problem?.title ?? "It failed", message: problem?.detail ?? String(error) });
}
