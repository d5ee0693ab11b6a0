// A front end as they were written for the original server: it knows no key, no version and no history of its own. It
// lays the flow out itself and saves the whole of it after every layout, click and drag, with all that React Flow keeps
// in nodes and edges. Beyond that it follows the events, and one form of it sends the version that it has seen.
const api = new URLSearchParams(location.search).get("api") + "/api";
const canvas = document.querySelector("#canvas");
const lines = document.querySelector("svg");
let nodes = [], edges = [], version = 0, selected = null, arranged = "";

let work = Promise.resolve(), waiting = 0;
/** One request after the other; the body says how many are still under way. */
function soon(task) {
  document.body.dataset.waiting = ++waiting;
  work = work.then(task).catch((error) => console.error(String(error)))
    .finally(() => { document.body.dataset.waiting = --waiting; });
  return work;
}

async function call(method, path, body, headers = {}) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers } };
  const answer = await fetch(api + path, { method, ...sent });
  version = Math.max(version, Number(/\d+/.exec(answer.headers.get("ETag") ?? "") ?? 0));
  return [answer.status, await answer.json()];
}

async function load(save) {
  const [, flow] = await call("GET", "/flow");
  await show(flow, save);
}

/** Lay out what is new, draw, measure, and save all of it. */
async function show(flow, save = true) {
  nodes = flow.nodes;
  edges = flow.edges;
  const shape = JSON.stringify([nodes.map((node) => [node.id, !!node.hidden]), edges.map((edge) => [edge.source, edge.target])]);
  if (shape !== arranged) layOut();
  arranged = shape;
  draw();
  nodes = nodes.map(decorated);
  edges = edges.map((edge) => ({ ...edge, selected: false }));
  if (save) await store();
}

function layOut() {
  const depth = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < nodes.length; round++)
    for (const edge of edges) depth.set(edge.target, Math.min(Math.max(depth.get(edge.target), depth.get(edge.source) + 1), nodes.length));
  const rows = new Map();
  nodes = nodes.map((node) => {
    if (node.hidden) return node;
    const column = depth.get(node.id), row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    return { ...node, position: { x: 220 * column, y: 90 * row } };
  });
}

function decorated(node) {
  const drawn = document.getElementById(`node-${node.id}`);
  const size = { width: drawn?.offsetWidth ?? node.width, height: drawn?.offsetHeight ?? node.height };
  return {
    ...node, ...size, measured: size, positionAbsolute: node.position, sourcePosition: "right", targetPosition: "left",
    selected: node.id === selected, dragging: false,
  };
}

const store = () => call("POST", "/flow", { nodes, edges });

function draw() {
  for (const old of canvas.querySelectorAll(".node")) old.remove();
  for (const node of nodes) {
    const box = document.createElement("div");
    box.id = `node-${node.id}`;
    box.textContent = node.data?.label ?? "";
    box.hidden = !!node.hidden;
    restyle(box, node);
    box.onpointerdown = (event) => press(event, node.id);
    box.ondblclick = () => toggle(node.id);
    canvas.append(box);
  }
  lines.replaceChildren(...edges.map((edge) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.dataset.edge = `${edge.source}-${edge.target}`;
    if (edge.hidden) line.setAttribute("hidden", "");
    return line;
  }));
}

function restyle(box, node) {
  box.className = node.id === selected ? "node selected" : "node";
  box.style.left = `${node.position.x}px`;
  box.style.top = `${node.position.y}px`;
}

/** A click selects, a drag moves; either is saved. */
function press(event, id) {
  const from = nodes.find((node) => node.id === id).position;
  const move = (now) => {
    const position = { x: from.x + now.clientX - event.clientX, y: from.y + now.clientY - event.clientY };
    nodes = nodes.map((node) => (node.id === id ? { ...node, position, positionAbsolute: position, dragging: true } : node));
  };
  const drop = () => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", drop);
    selected = id;
    for (const node of nodes) restyle(document.getElementById(`node-${node.id}`), node);
    nodes = nodes.map(decorated);
    soon(store);
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", drop);
}

const toggle = (id) => soon(async () => {
  const root = nodes.find((node) => node.id === id);
  const [, told] = await call("PUT", `/flow/subtree/${id}/collapse`, { collapsed: !root.data.collapsed });
  await show(told.flow);
});

function form(id, act) {
  const element = document.getElementById(id);
  element.onsubmit = (event) => {
    event.preventDefault();
    const text = element.querySelector("input").value;
    element.querySelector("input").value = "";
    soon(() => act(text));
  };
}

form("add", async (label) => {
  const [, told] = await call("POST", "/flow/node", { label, parentNodeId: selected });
  await show(told.flow);
});

form("rename", async (label) => {
  const [status, told] = await call("PUT", `/flow/node/${selected}`, { label }, { "If-Match": `"v${version}"` });
  document.querySelector("#stale").textContent = status === 412 ? told.detail : "";
  if (status === 412) version = told.version;
  await (status === 412 ? load(false) : show(told.flow));
});

form("chat", async (message) => {
  const [, told] = await call("POST", "/conversation/message", { message });
  document.querySelector("#thinking").textContent = told.thinking;
  if (told.execution?.some((entry) => entry.tool === "autoLayout")) document.body.dataset.arranged = "yes";
  if (told.updatedFlow) await show(told.updatedFlow);
});

addEventListener("keydown", (event) => {
  const kind = event.ctrlKey ? { z: "undo", y: "redo" }[event.key] : undefined;
  if (kind === undefined) return;
  event.preventDefault();
  soon(async () => {
    const [, told] = await call("POST", `/flow/${kind}`);
    document.body.dataset.nothing = told.success ? "" : told.message;
    if (told.success) await show(told.flow);
  });
});

await soon(() => load(true));
if (!new URLSearchParams(location.search).has("deaf")) {
  const events = new EventSource(`${api}/flow/events?after=${version}`);
  const hear = (event) => soon(async () => { if (JSON.parse(event.data).version > version) await load(false); });
  for (const kind of ["create", "change", "undo", "redo", "reset"]) events.addEventListener(kind, hear);
  events.onopen = () => { document.body.dataset.live = "yes"; };
}
