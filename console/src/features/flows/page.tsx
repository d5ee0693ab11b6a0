import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Workflow } from "lucide-react";
import { useState } from "react";
import { get } from "../../api/client";
import type { FlowSummary, Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { WriteButton } from "../../shared/editing/write-button";
import { ChooseFlowFiles, FlowDrop, useFlowFiles } from "../../shared/files/flow-files";
import { LoadMore } from "../../shared/page/load-more";
import { Empty, Failed } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { SortedTable } from "../../shared/tables/sorted-table";
import { Icon } from "../../shared/values/icon";
import { count } from "../../shared/values/numbers";
import { When } from "../../shared/values/time";
import { NewFlow } from "./new-flow";
import { Thumbnail } from "./thumbnail";

export function Page() {
  useTitle("Flows");
  const query = useInfiniteQuery({
    queryKey: ["flows"],
    queryFn: ({ pageParam }) => get<PageOf<FlowSummary>>("/v1/flows", { limit: 100, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const files = useFlowFiles();
  const [creating, setCreating] = useState(false);
  const flows = query.data?.pages.flatMap((page) => page.items);
  const actions = (
    <>
      <ChooseFlowFiles files={files} />
      <WriteButton leftSection={<Icon of={Plus} />} onClick={() => setCreating(true)}>
        New flow
      </WriteButton>
    </>
  );
  return (
    <FlowDrop files={files}>
      <div className="head">
        <div className="title">
          <h1>Flows</h1>
          <p>Diagrams that are edited in plain language. Drop Mermaid or JSON files anywhere here to import them.</p>
        </div>
        <div className="bar acts">{flows?.length === 0 ? null : actions}</div>
      </div>
      {query.error && flows === undefined ? (
        <Failed error={query.error} retry={() => void query.refetch()} />
      ) : flows?.length === 0 ? (
        <Empty title="No flows yet" icon={Workflow} actions={actions}>
          Start with an empty flow or a sample and say what should change, or import a diagram from Mermaid, JSON, Excalidraw or Canvas.
        </Empty>
      ) : (
        <FlowTable flows={flows} />
      )}
      <LoadMore query={query} />
      {creating ? <NewFlow onClose={() => setCreating(false)} /> : null}
    </FlowDrop>
  );
}

function FlowTable({ flows }: { flows: readonly FlowSummary[] | undefined }) {
  return (
    <SortedTable
      id="flows"
      label="All flows"
      height="none"
      columns={[
        "",
        { name: "Name", by: (row) => row.name },
        { name: "Nodes", num: true, by: (row) => row.nodes_count },
        { name: "Links", num: true, by: (row) => row.edges_count },
        { name: "Version", num: true, by: (row) => row.version },
        { name: "Changed by", by: (row) => row.actor_name ?? null },
        { name: "Changed", num: true, by: (row) => row.updated_at },
      ]}
      items={flows}
      row={(flow) => (
        <tr key={flow.id}>
          <td className="actions">
            <Thumbnail flow={flow} />
          </td>
          <td className="grow">
            <Link to="/flows/$id" params={{ id: flow.id }}>
              {visible(flow.name)}
            </Link>
          </td>
          <td className="num">{count(flow.nodes_count)}</td>
          <td className="num">{count(flow.edges_count)}</td>
          <td className="num">{count(flow.version)}</td>
          <td>{visible(flow.actor_name ?? "–")}</td>
          <td className="num muted">
            <When at={flow.updated_at} />
          </td>
        </tr>
      )}
    />
  );
}
