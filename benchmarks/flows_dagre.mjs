// Times dagre's layout of the graphs on stdin: [{nodes: [id], edges: [[source, target]]}].
// Prints the processor's milliseconds, one array a graph.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "package.json"));
const dagre = require("@dagrejs/dagre");
let text = "";
for await (const chunk of process.stdin) text += chunk;
const taken = JSON.parse(text).map(({ nodes, edges }) =>
  Array.from({ length: Number(process.argv[3]) }, () => {
    const began = process.cpuUsage();
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ rankdir: "LR", nodesep: 50, ranksep: 50 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const id of nodes) graph.setNode(id, { width: 172, height: 76 });
    edges.forEach(([source, target], index) => graph.setEdge(source, target, {}, String(index)));
    dagre.layout(graph);
    return process.cpuUsage(began).user / 1000;
  }),
);
console.log(JSON.stringify(taken));
