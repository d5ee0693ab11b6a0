import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, memo, Suspense, useMemo, useState } from "react";
import { get, getUnlessSame, post, Problem, send } from "../../api/client";
import type { FlowView } from "../../api/types";
import { visible } from "../../shared/ansi";
import { download } from "../../shared/json";
import { Tag } from "../../shared/marks";
import { Loaded, Loading } from "../../shared/states";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { useWrite, WriteButton } from "../../shared/write";
import { Chat } from "./chat";
import { drawn, outline, type Operation } from "./graph";
import { Hand } from "./hand";
import { History } from "./history";
import { Proposal } from "./proposal";

const Canvas = lazy(() => import("./canvas"));

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string };
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ["flow", id],
    queryFn: () => getUnlessSame<FlowView>(`/v1/flows/${id}`, client.getQueryData(["flow", id])),
    refetchInterval: 3000,
    structuralSharing: false,
  });
  return <Loaded query={query}>{(flow) => <Flow flow={flow} />}</Loaded>;
}

// The same one each time: what is drawn is computed anew only when something else is to be drawn.
const NONE: readonly Operation[] = [];

type Diff = { operations: Operation[] };

function Flow({ flow }: { flow: FlowView }) {
  useTitle(`${flow.name} · version ${flow.version}`);
  const [url, change] = useUrl();
  const client = useQueryClient();
  const [chosen, setChosen] = useState<string | null>(null);
  const base = `/v1/flows/${flow.id}`;
  const refresh = (): void => {
    void client.invalidateQueries({ queryKey: ["flow", flow.id] });
    void client.invalidateQueries({ queryKey: ["flow-history", flow.id] });
  };
  const past = url.version === undefined ? null : Number(url.version);
  const earlier = useQuery({ queryKey: ["flow-version", flow.id, past], queryFn: () => get<FlowView>(`${base}/versions/${past}`), enabled: past !== null, staleTime: Infinity });
  const ghost = useQuery({
    queryKey: ["flow-diff", flow.id, past],
    queryFn: () => get<Diff>(`${base}/diff`, { from: past! - 1, to: past! }).catch((): Diff => ({ operations: [] })),
    enabled: past !== null && past > 1,
    staleTime: Infinity,
  });
  const proposal = useQuery({ queryKey: ["proposal", flow.id, url.proposal], queryFn: () => get<Diff & { state: string }>(`${base}/proposals/${url.proposal}`), enabled: url.proposal !== undefined });
  const operations = past !== null ? (ghost.data?.operations ?? NONE) : proposal.data?.state === "open" ? proposal.data.operations : NONE;
  const shown = past === null ? flow : (earlier.data ?? flow);
  const { nodes, edges } = useMemo(() => drawn(shown, operations), [shown, operations]);
  const lines = useMemo(() => outline(shown), [shown]);
  const edit = useMutation({
    mutationFn: (tool_calls: { name: string; params: object }[]) => post<{ success: boolean; execution: { error?: string | null }[] }>(`${base}/operations`, { tool_calls }),
    onSuccess: (answer) => {
      const error = answer.execution.find((each) => each.error)?.error;
      if (error) notifications.show({ color: "red", title: "Not done", message: error });
      refresh();
    },
    onError: fault,
  });
  const walk = useMutation({
    mutationFn: ({ to, scope = "all" }: { to: "undo" | "redo"; scope?: "all" | "mine" }) => post<{ success: boolean; message?: string }>(`${base}/${to}`, { scope }),
    onSuccess: (answer) => {
      if (!answer.success) notifications.show({ message: answer.message ?? "Nothing is left" });
      refresh();
    },
    onError: fault,
  });
  const write = useWrite();
  const editable = past === null && operations.length === 0 && write.may;
  const call = (name: string, params: object): void => edit.mutate([{ name, params }]);
  return (
    <div className="stack">
      <div className="head">
        <Link to="/flows" className="plain">
          Flows
        </Link>
        <h1 className="clip">{visible(flow.name)}</h1>
        <Tag>version {shown.version}</Tag>
        {past === null ? null : <Tag tone="warn">earlier version, not editable</Tag>}
        <span className="spacer" />
        <WriteButton variant="default" disabled={past !== null} onClick={() => walk.mutate({ to: "undo" })}>
          Undo
        </WriteButton>
        <WriteButton variant="default" disabled={past !== null} onClick={() => walk.mutate({ to: "undo", scope: "mine" })}>
          Undo mine
        </WriteButton>
        <WriteButton variant="default" disabled={past !== null} onClick={() => walk.mutate({ to: "redo" })}>
          Redo
        </WriteButton>
        <Layout base={base} onDone={refresh} disabled={past !== null} />
        <Export base={base} name={flow.name} />
      </div>
      <div className="flow-cols">
        <div className="stack">
          <Suspense fallback={<Loading />}>
            <Canvas
              key={flow.id}
              nodes={nodes}
              edges={edges}
              editable={editable}
              onMove={(moved) => edit.mutate(moved.map((params) => ({ name: "updateNode", params })))}
              onConnect={(sourceNodeId, targetNodeId) => call("addEdge", { sourceNodeId, targetNodeId })}
              onRemove={(gone, cut) => edit.mutate([...gone.map((nodeId) => ({ name: "deleteNode", params: { nodeId } })), ...(gone.length > 0 ? [] : cut.map((edgeId) => ({ name: "deleteEdge", params: { edgeId } })))])}
              onChoose={setChosen}
              onFold={(groupId, expand) => call("toggleGroupExpansion", { groupId, expand })}
            />
          </Suspense>
          <Hand flow={flow} chosen={chosen} disabled={!editable} call={call} />
          <History flow={flow} chosen={past} onChoose={(version) => change({ version: version === null || version === flow.version ? null : String(version) })} onRestored={refresh} />
        </div>
        <div className="stack">
          {url.proposal === undefined ? null : <Proposal flow={flow} id={url.proposal} onDecided={() => (change({ proposal: null }), refresh())} onAskAgain={() => change({ proposal: null })} />}
          <Chat flow={flow} jobId={url.job} onJob={(job) => change({ job })} onProposal={(id) => change({ proposal: id })} onChanged={refresh} />
          <Outline lines={lines} />
        </div>
      </div>
    </div>
  );
}

function fault(error: unknown): void {
  const problem = error instanceof Problem ? error : null;
  const conflicts = (problem?.document.conflicts as { kind: string; id: string }[] | undefined)?.map((each) => `${each.kind} ${each.id}`).join(", ");
  notifications.show({ color: "red", title: problem?.title ?? "It failed", message: conflicts ? `In the way: ${conflicts}` : (problem?.detail ?? String(error)) });
}

function Layout({ base, onDone, disabled }: { base: string; onDone: () => void; disabled: boolean }) {
  const layout = useMutation({ mutationFn: (direction: string) => post(`${base}/layout`, { direction }), onSuccess: onDone, onError: fault });
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <WriteButton variant="default" disabled={disabled} loading={layout.isPending}>
          Lay out
        </WriteButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => layout.mutate("LR")}>Left to right</Menu.Item>
        <Menu.Item onClick={() => layout.mutate("TB")}>Top to bottom</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Export({ base, name }: { base: string; name: string }) {
  const save = async (format: string, ending: string): Promise<void> => {
    const answer = await send("GET", `${base}/export`, { query: { format }, headers: { Accept: "*/*" } });
    download(await answer.blob(), `${name}.${ending}`);
  };
  const forms = [["mermaid", "mmd"], ["json", "json"], ["dot", "dot"], ["svg", "svg"]] as const;
  return (
    <Menu transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <Button variant="default">Export</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {forms.map(([format, ending]) => (
          <Menu.Item key={format} onClick={() => void save(format, ending).catch(fault)}>
            {format}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** The flow as text: the canvas' twin for who does not see it. */
const Outline = memo(function Outline({ lines }: { lines: ReturnType<typeof outline> }) {
  return (
    <details className="panel">
      <summary>Outline: {lines.length} nodes</summary>
      <ol>
        {lines.slice(0, 500).map((line) => (
          <li key={line.id}>{visible(line.text)}</li>
        ))}
      </ol>
    </details>
  );
});
