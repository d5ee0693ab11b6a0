import { Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { get, post } from "../../api/client";
import type { FlowSummary, FlowView, Page as PageOf } from "../../api/types";
import { visible } from "../../shared/ansi";
import { faultsOf } from "../../shared/faults";
import { Empty, Failed, Loaded } from "../../shared/states";
import { When } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { WriteButton } from "../../shared/write";

const SAMPLE = "flowchart LR\n  cart[Cart] --> payment[Payment]\n  payment --> receipt[Receipt]\n";

export function Page() {
  useTitle("Flows");
  const query = useQuery({ queryKey: ["flows"], queryFn: () => get<PageOf<FlowSummary>>("/v1/flows", { limit: 200 }) });
  return (
    <>
      <div className="head">
        <h1>Flows</h1>
        <span className="muted">diagrams that are changed in words, with undo</span>
      </div>
      <div className="cols">
        <Create />
        <Loaded query={query}>
          {(page) =>
            page.items.length === 0 ? (
              <Empty title="No flow yet">
                <span className="muted">Import the sample, or start with an empty one.</span>
              </Empty>
            ) : (
              <table className="grid-table wide">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th className="num">Version</th>
                    <th className="num">Nodes</th>
                    <th className="num">Edges</th>
                    <th>Changed</th>
                  </tr>
                </thead>
                <tbody>
                  {page.items.map((flow) => (
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
                  ))}
                </tbody>
              </table>
            )
          }
        </Loaded>
      </div>
    </>
  );
}

function Create() {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const make = useMutation({
    mutationFn: () => {
      if (text.trim() === "") return post<FlowView>("/v1/flows", { name: name || "New flow", nodes: [], edges: [] });
      const format = /^\s*\{/.test(text) ? "json" : "mermaid";
      return post<FlowView>("/v1/flows/import", { format, text, ...(name === "" ? {} : { name }) });
    },
    // With warnings there is something to read first.
    onSuccess: (flow) => ((flow.warnings ?? []).length > 0 ? undefined : navigate({ to: "/flows/$id", params: { id: flow.id } })),
  });
  const faults = faultsOf(make.error, ["name", "text"]);
  const warnings = make.data?.warnings ?? [];
  return (
    <section className="panel stack" aria-label="New flow">
      <h2>New flow</h2>
      <TextInput label="Name" error={faults.at("name")} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <Textarea label="Mermaid or JSON to import" error={faults.at("text")} autosize minRows={5} maxRows={16} classNames={{ input: "mono" }} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <div className="bar">
        <WriteButton loading={make.isPending} onClick={() => make.mutate()}>
          {text.trim() === "" ? "Create an empty one" : "Import"}
        </WriteButton>
        <button type="button" className="link" onClick={() => setText(SAMPLE)}>
          Use a sample
        </button>
      </div>
      {make.error === null ? null : <Failed error={make.error} faults={faults} />}
      {make.data === undefined || warnings.length === 0 ? null : (
        <div className="callout warn tight" role="alert">
          <b>Imported, but for {warnings.length === 1 ? "one line" : `${warnings.length} lines`}</b>
          {warnings.map((warning, index) => (
            <span key={index}>
              line {warning.line}: <code>{visible(lineOf(text, warning.line))}</code> {visible(warning.text)}
            </span>
          ))}
          <Link to="/flows/$id" params={{ id: make.data.id }} className="plain">
            Open the flow
          </Link>
        </div>
      )}
    </section>
  );
}

function lineOf(text: string, line: number): string {
  return text.split("\n")[line - 1]?.trim() ?? "";
}
