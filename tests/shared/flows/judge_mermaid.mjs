// What Mermaid's own parser reads of charts: node judge_mermaid.mjs charts.json mermaid_verdicts.json
import { JSDOM } from "jsdom";
import fs from "node:fs";
const dom = new JSDOM("<!DOCTYPE html><body></body>");
global.window = dom.window; global.document = dom.window.document; 
Object.defineProperty(global, "navigator", {value: dom.window.navigator, configurable: true});
const mermaid = (await import("mermaid")).default;
mermaid.initialize({startOnLoad: false});
const charts = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const out = [];
for (const chart of charts) {
  try {
    const diagram = await mermaid.mermaidAPI.getDiagramFromText(chart.text);
    const db = diagram.db;
    if (!db.getVertices) {
      out.push({ refused: `not a flowchart: ${diagram.type}` });
      continue;
    }
    const vertices = db.getVertices();
    const entries = vertices instanceof Map ? [...vertices.entries()] : Object.entries(vertices);
    out.push({
      nodes: Object.fromEntries(entries.map(([id, node]) => [id, [node.text ?? id, node.labelType]])),
      edges: db.getEdges().map((edge) => [edge.start, edge.end, edge.text ?? "", edge.stroke, edge.type, edge.labelType]),
      groups: db.getSubGraphs().map((group) => [group.id, group.title, group.nodes]),
      direction: db.getDirection(),
    });
  } catch (error) {
    out.push({ refused: String(error.message ?? error).split("\n")[0] });
  }
}
fs.writeFileSync(process.argv[3], `[\n${out.map((verdict) => JSON.stringify(verdict)).join(",\n")}\n]\n`);
