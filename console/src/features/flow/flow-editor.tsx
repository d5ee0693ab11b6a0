import { Tabs } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { post, Problem } from "../../api/client";
import type { FlowView } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { useWrite } from "../../shared/editing/write-button";
import { download } from "../../shared/files/download";
import { FlowDrop, useFlowFiles } from "../../shared/files/flow-files";
import { Loading } from "../../shared/page/loading-states";
import { toast } from "../../shared/page/toasts";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { count } from "../../shared/values/numbers";
import { LiveTag, Tag } from "../../shared/values/marks";
import { useArrows, type CanvasHandle } from "./canvas/arrow-keys";
import { linkedWith } from "./canvas/arrow-moves";
import { around } from "../../shared/flows/boxes";
import type { MenuAt } from "./canvas/canvas";
import { isGroup, nodesOf } from "../../shared/flows/elements";
import { outline } from "./canvas/outline";
import { chosenOf, chosenText, sightOf, sightText, useSettled } from "./canvas/viewport";
import { Chat } from "./chat/chat";
import { Proposal } from "./chat/proposal";
import { useActions } from "./editing/actions";
import type { Call } from "./editing/announcements";
import { ContextMenu } from "./editing/context-menu";
import { useEdits } from "./editing/edits";
import { InlineEditor } from "./editing/inline-editor";
import { LinkPrompt } from "./editing/link-prompt";
import { RenameDelete } from "./editing/rename-delete";
import { SelectionBar } from "./editing/selection-bar";
import { useShortcuts } from "./editing/shortcuts";
import { Toolbar } from "./editing/toolbar";
import "./flow.css";
import { History, Restore, useSteps } from "./history/history";
import { SPEEDS } from "./history/playback";
import { Rail } from "./history/rail";
import { UndoMine, UndoRedo, UndoRefusal, useUndoRedo } from "./history/undo-redo";
import { Export, Layout, type Direction, type PictureForm } from "./layout-export";
import { useLiveFlow } from "./live-updates";
import { Outline } from "./outline-panel";
import { useShown } from "./view-state";

const Canvas = lazy(() => import("./canvas/canvas"));
const Overtaken = lazy(() => import("./editing/conflict"));
const PANELS = ["chat", "history", "outline"] as const;

/** The canvas, what is done on it, and the chat, the versions and the outline next to it. */
export function FlowEditor({ flow }: { flow: FlowView }) {
  useTitle(`${flow.name} · version ${flow.version}`);
  const [url, change] = useUrl();
  const client = useQueryClient();
  const settled = useSettled(change);
  const [{ chosen, links }, setChosen] = useState(() => ({ chosen: chosenOf(url.nodes), links: [] as readonly string[] }));
  const link = links.length === 1 && chosen.length === 0 ? links[0]! : null;
  const [isReady, setReady] = useState(false);
  const [selecting, setSelecting] = useState(false);
  const [linking, setLinking] = useState(false);
  const [menu, setMenu] = useState<MenuAt | null>(null);
  const [words, say] = useState("");
  const [ending, setEnding] = useState(false);
  const canvas = useRef<CanvasHandle>(null);
  const find = useRef<HTMLInputElement>(null);
  const write = useWrite();
  const files = useFlowFiles();
  const base = `/v1/flows/${flow.id}`;
  const refresh = useCallback(() => void client.invalidateQueries({ queryKey: ["flow", flow.id] }), [client, flow.id]);
  const liveness = useLiveFlow(ending ? null : flow.id, flow.version, refresh);
  const { past, frame, left, proposed, shown, nodes, edges, look } = useShown(flow, url);
  const editable = past === null && proposed.length === 0 && write.may;
  const edits = useEdits(flow, say, refresh, fault);
  const walk = useUndoRedo(flow, say, refresh);
  const history = useSteps(flow);
  const layout = useMutation({ mutationFn: (direction: Direction) => post(`${base}/layout`, { direction }), onSuccess: refresh, onError: fault });
  const arrows = useArrows(canvas, edges, editable);
  const drawnIds = useMemo(() => new Set(nodes.filter((node) => node.hidden !== true).map((node) => node.id)), [nodes]);
  const actions = useActions({ flow, canvas, chosen, link, run: edits.run, focus: arrows.focus, drawn: drawnIds });
  const lines = useMemo(() => outline(shown), [shown]);
  const panel = PANELS.find((each) => each === url.panel) ?? "chat";
  const call: Call = (name, params, before) => edits.run([{ name, params }], before);
  const choose = useCallback(
    (ids: string[], links: string[]) => {
      setChosen({ chosen: ids, links });
      settled({ nodes: chosenText(ids) });
    },
    [settled],
  );
  const remove = (gone: string[], cut: string[]): void => {
    if (gone.length + cut.length === 0) return;
    edits.run([...gone.map((nodeId) => ({ name: "deleteNode", params: { nodeId } })), ...(gone.length > 0 ? [] : cut.map((edgeId) => ({ name: "deleteEdge", params: { edgeId } })))]);
    // Who works by keys continues next to what is gone.
    const beside = gone.flatMap((id) => [...linkedWith(edges, id)]).find((id) => !gone.includes(id));
    if (beside !== undefined) arrows.focus(beside);
  };
  const selectAll = (): void => canvas.current?.choose(nodes.filter((node) => node.hidden !== true && !node.data.open).map((node) => node.id));
  const search = (): void => {
    change({ panel: "outline" });
    setTimeout(() => find.current?.focus());
  };
  const copy = (): string | null => (window.getSelection()?.toString() === "" ? actions.copy() : null);
  const only = chosen.length === 1 ? chosen[0] : undefined;
  const groups = nodesOf(flow).some((node) => chosen.includes(node.id) && isGroup(node));
  useShortcuts({
    ...(past === null && write.may ? { undo: () => walk.mutate({ to: "undo", scope: "all" }), redo: () => walk.mutate({ to: "redo", scope: "all" }) } : {}),
    ...(editable ? { duplicate: actions.duplicate, group: () => actions.group(), rename: actions.rename, remove: () => remove(canvas.current?.chosen() ?? [], [...links]), add: () => actions.add(), paste: actions.paste, cut: () => remove(canvas.current?.chosen() ?? [], []) } : {}),
    ...(editable && groups ? { ungroup: actions.ungroup } : {}),
    ...(editable && only !== undefined ? { link: () => setLinking(true) } : {}),
    selectAll,
    copy,
    find: search,
    fit: () => canvas.current?.fit(),
    selecting: setSelecting,
    letGo: () => (setLinking(false), canvas.current?.choose([])),
  });
  // What is proposed is in sight: it can be anywhere in the diagram.
  useEffect(() => {
    const timer = setTimeout(() => {
      const boxes = proposed.flatMap((each) => canvas.current?.rect(each.id) ?? []);
      if (boxes.length > 0) canvas.current?.show(around(boxes));
    });
    return () => clearTimeout(timer);
  }, [proposed, isReady]);
  const picture = async (form: PictureForm): Promise<void> => {
    const { pngOf, svgOf, tokensOf } = await import("./picture/picture");
    const made = svgOf(canvas.current?.nodes ?? nodes, edges, tokensOf(document.documentElement), look);
    if (form === "svg") return download(new Blob([made.svg], { type: "image/svg+xml" }), `${flow.name}.svg`);
    if (form === "png") return download(await pngOf(made), `${flow.name}.png`);
    if (navigator.clipboard?.write === undefined) throw new Error("The browser lets pages write to the clipboard only over HTTPS. Export a PNG instead.");
    await navigator.clipboard.write([new ClipboardItem({ "image/png": pngOf(made) })]);
    toast({ message: "The picture is in the clipboard." });
  };
  return (
    <FlowDrop files={files}>
      <div className="flow-head">
        <nav className="crumb" aria-label="You are here">
          <Link to="/flows">Flows</Link>
          <span aria-hidden="true">›</span>
        </nav>
        <h1 className="clip">{visible(flow.name)}</h1>
        <Tag>version {shown.version}</Tag>
        {past === null ? <LiveTag liveness={liveness} /> : <Tag tone="warn">earlier version, not editable</Tag>}
        <span className="spacer" />
        <UndoRedo flow={flow} walk={walk} disabled={past !== null} />
        <Layout busy={layout.isPending} disabled={past !== null} onLayout={layout.mutate} />
        <Export base={base} name={flow.name} onPicture={picture} onFault={fault} />
        <RenameDelete flow={flow} onRenamed={refresh} onEnding={setEnding}>
          <UndoMine flow={flow} walk={walk} disabled={past !== null} />
        </RenameDelete>
      </div>
      <UndoRefusal flow={flow} walk={walk} />
      <Suspense>{edits.overtaken === null ? null : <Overtaken edit={edits.overtaken} flow={flow} onAgain={edits.again} onLeave={edits.drop} />}</Suspense>
      <p className="unseen" role="status" aria-label="What was done">
        {visible(words)}
      </p>
      <div className="flow-body">
        <div className={`canvas-side ${selecting ? "selecting" : ""} ${link === null ? "" : "link-chosen"}`} onKeyDownCapture={arrows.press}>
          <Suspense fallback={<Loading />}>
            <Canvas
              nodes={nodes}
              edges={edges}
              editable={editable}
              film={past !== null}
              selecting={selecting}
              look={look}
              chosen={chosen}
              sight={sightOf(url.sight)}
              handle={canvas}
              onMove={(moved) => edits.run(moved.map((params) => ({ name: "updateNode", params })))}
              onResize={actions.resize}
              onConnect={(sourceNodeId, targetNodeId) => call("addEdge", { sourceNodeId, targetNodeId })}
              onReconnect={(edgeId, ends) => call("updateEdge", { edgeId, ...ends })}
              onDropLink={(source, at) => actions.add(at, source)}
              onChoose={choose}
              onFold={(groupId, expand) => call("toggleGroupExpansion", { groupId, expand })}
              onSight={(sight) => settled({ sight: sightText(sight) })}
              onRename={(on, id, at) => (on === "node" ? actions.renameNode(id) : on === "edge" ? actions.renameLink(id) : actions.add(at))}
              onReady={() => setReady(true)}
              onMenu={(at) => {
                if (at.on === "edge") canvas.current?.choose([], at.id);
                else if (at.on === "node" && !chosen.includes(at.id)) canvas.current?.choose([at.id]);
                setMenu(at);
              }}
              foot={
                <Rail
                  flow={flow}
                  chosen={past}
                  frame={frame}
                  step={history.all.find((step) => step.version === (past ?? flow.version))}
                  speed={SPEEDS.find((each) => each === url.speed) ?? "1"}
                  onSpeed={(speed) => change({ speed: speed === "1" ? null : speed })}
                  onChoose={(version) => change({ version: version === null ? null : String(version) })}
                />
              }
            />
          </Suspense>
          <Toolbar disabled={!editable} selecting={selecting} onSelecting={setSelecting} onAdd={() => actions.add()} onLink={only === undefined ? undefined : () => setLinking(true)} onGroup={chosen.length < 2 ? undefined : () => actions.group()} />
          <div className="canvas-top">
            {past !== null ? (
              <div className="canvas-note">
                <Restore flow={flow} version={past} onChoose={(version) => change({ version: version === null ? null : String(version) })} onRestored={refresh} />
              </div>
            ) : proposed.length > 0 && write.may ? (
              <p className="canvas-note">A proposal is drawn. Accept or discard it to continue editing.</p>
            ) : linking && only !== undefined ? (
              <LinkPrompt flow={flow} from={only} onLink={(targetNodeId) => (call("addEdge", { sourceNodeId: only, targetNodeId }), setLinking(false), arrows.focus(only))} onClose={() => (setLinking(false), arrows.focus(only))} />
            ) : (
              <SelectionBar flow={shown} chosen={chosen} link={link} disabled={!editable} actions={actions} call={call} onRemove={remove} />
            )}
          </div>
          {actions.written === null ? null : <InlineEditor written={actions.written} onClose={actions.close} />}
          {menu === null ? null : (
            <ContextMenu
              menu={menu}
              flow={shown}
              chosen={chosen}
              editable={editable}
              actions={actions}
              onCopy={() => void navigator.clipboard?.writeText(actions.copy() ?? "")}
              onLink={() => setLinking(true)}
              onFold={(groupId, expand) => call("toggleGroupExpansion", { groupId, expand })}
              onRemove={remove}
              onSelectAll={selectAll}
              onFit={() => canvas.current?.fit()}
              onLayout={layout.mutate}
              onClose={() => setMenu(null)}
            />
          )}
        </div>
        <aside className="flow-aside" aria-label="Chat, versions and outline">
          <Tabs value={panel} keepMounted onChange={(next) => change({ panel: next === "chat" ? null : next })}>
            <Tabs.List>
              <Tabs.Tab value="chat">Chat</Tabs.Tab>
              <Tabs.Tab value="history" rightSection={<span className="tab-count">{count(flow.version)}</span>}>
                History
              </Tabs.Tab>
              <Tabs.Tab value="outline" rightSection={<span className="tab-count">{count(lines.length)}</span>}>
                Outline
              </Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="chat">
              <Chat
                flow={flow}
                jobId={url.job}
                onJob={(job) => change({ job })}
                onProposal={(id) => change({ proposal: id, without: null })}
                onChanged={refresh}
                proposal={
                  url.proposal === undefined ? null : (
                    <Proposal
                      flow={flow}
                      id={url.proposal}
                      left={left}
                      onLeave={(places) => change({ without: [...places].join(",") || null })}
                      onDecided={() => (change({ proposal: null, without: null }), refresh())}
                      onAsked={(job) => change({ proposal: null, without: null, job })}
                    />
                  )
                }
              />
            </Tabs.Panel>
            <Tabs.Panel value="history">
              <History flow={flow} chosen={past} history={history} onChoose={(version) => change({ version: version === null ? null : String(version) })} onRestored={refresh} />
            </Tabs.Panel>
            <Tabs.Panel value="outline">
              <Outline lines={lines} field={find} onShow={arrows.find} />
            </Tabs.Panel>
          </Tabs>
        </aside>
      </div>
    </FlowDrop>
  );
}

function fault(error: unknown): void {
  const problem = error instanceof Problem ? error : null;
  toast({ color: "red", title: problem?.title ?? "It failed", message: problem?.detail ?? (error instanceof Error ? error.message : String(error)) });
}
