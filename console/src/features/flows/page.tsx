import { Textarea, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { get, post } from "../../api/client";
import type { FlowSummary, FlowView, Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { faultsOf } from "../../shared/editing/field-errors";
import { ChooseFlowFiles, FlowDrop, Imported, useFlowFiles } from "../../shared/files/flow-files";
import { importFlow } from "../../shared/files/flow-import";
import { Empty, Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { WriteButton } from "../../shared/editing/write-button";
import { SortedTable } from "../../shared/tables/sorted-table";
import { LoadMore } from "../../shared/page/load-more";

const SAMPLE = "flowchart LR\n  cart[Cart] --> payment[Payment]\n  payment --> receipt[Receipt]\n";

export function Page() {
  useTitle("Flows");
  const query = useInfiniteQuery({
    queryKey: ["flows"],
    queryFn: ({ pageParam }) => get<PageOf<FlowSummary>>("/v1/flows", { limit: 100, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const files = useFlowFiles();
  return (
    <FlowDrop files={files}>
      <div className="head">
        <h1>Flows</h1>
        <span className="muted">Edit diagrams in plain language</span>
        <span className="spacer" />
        <ChooseFlowFiles files={files} />
        <span className="muted not-narrow">to import, or drop them anywhere here</span>
      </div>
      <div className="cols aside">
        <Loaded query={query}>
          {({ pages }) =>
            pages[0]?.items.length === 0 ? (
              <Empty title="No flows yet">
                <span className="muted">Import the sample, or start with an empty one.</span>
              </Empty>
            ) : (
              <div className="stack">
              <SortedTable
                id="flows"
                label="All flows"
                columns={[
                  { name: "Name", by: (row) => row.name },
                  { name: "Version", num: true, by: (row) => row.version },
                  { name: "Nodes", num: true, by: (row) => row.nodes_count },
                  { name: "Edges", num: true, by: (row) => row.edges_count },
                  { name: "Changed", by: (row) => row.updated_at },
                ]}
                items={pages.flatMap((page) => page.items)}
                row={(flow) => (
                  <tr key={flow.id}>
                    <td>
                      <Link to="/flows/$id" params={{ id: flow.id }} className="plain">
                        {visible(flow.name)}
                      </Link>
                    </td>
                    <td className="num">{flow.version}</td>
                    <td className="num">{flow.nodes_count}</td>
                    <td className="num">{flow.edges_count}</td>
                    <td>
                      <When at={flow.updated_at} />
                    </td>
                  </tr>
                )}
              />
              <LoadMore query={query} />
              </div>
            )
          }
        </Loaded>
        <Create />
      </div>
    </FlowDrop>
  );
}

function Create() {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: async () => (text.trim() === "" ? { flow: await post<FlowView>("/v1/flows", { name: name || "New flow", nodes: [], edges: [] }), left: 0 } : importFlow(text, name)),
    onSuccess: ({ flow, left }) => {
      void client.invalidateQueries({ queryKey: ["flows"] });
      // With warnings there is something to read first.
      if ((flow.warnings ?? []).length + left === 0) void navigate({ to: "/flows/$id", params: { id: flow.id } });
    },
  });
  const faults = faultsOf(make.error, ["name", "text"]);
  return (
    <section className="panel stack" aria-label="New flow">
      <h2>New flow</h2>
      <TextInput label="Name" error={faults.at("name")} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <Textarea label="Mermaid or JSON to import" error={faults.at("text")} autosize minRows={5} maxRows={16} classNames={{ input: "mono" }} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <div className="bar">
        <WriteButton loading={make.isPending} onClick={() => make.mutate()}>
          {text.trim() === "" ? "Create empty flow" : "Import"}
        </WriteButton>
        <button type="button" className="link" onClick={() => setText(SAMPLE)}>
          Use a sample
        </button>
      </div>
      {make.error === null ? null : <Failed error={make.error} faults={faults} />}
      {make.data === undefined || make.data.left + (make.data.flow.warnings ?? []).length === 0 ? null : <Imported text={text} {...make.data} />}
    </section>
  );
}
