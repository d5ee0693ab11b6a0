"use strict";

const METHODS = ["get", "post", "put", "delete"];

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** An element whose `words` stand as code. */
function prose(name, text) {
  const made = element(name);
  (text ?? "").split("`").forEach((part, number) => made.append(number % 2 ? element("code", part) : part));
  return made;
}

/** What a parameter may be: its values or type, its bounds, and what it is when it is left out. */
function values(schema) {
  const parts = (schema.anyOf ?? [schema]).filter((part) => part.type !== "null");
  const told = parts.map((part) => {
    const bounds = "minimum" in part && "maximum" in part ? ` ${part.minimum}..${part.maximum}` : "";
    return (part.enum ?? (part.const ? [part.const] : undefined))?.join(" | ") ?? `${part.type ?? "any"}${bounds}`;
  });
  return told.join(" or ") + (schema.default != null ? `, default ${schema.default}` : "");
}

function resolve(document, schema, depth = 0) {
  if (!schema || typeof schema !== "object" || depth > 6) return schema;
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return resolve(document, document.components.schemas[name], depth + 1);
  }
  if (Array.isArray(schema)) return schema.map((part) => resolve(document, part, depth + 1));
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, resolve(document, value, depth + 1)]),
  );
}

function details(title, content) {
  const made = element("details");
  made.append(element("summary", title), element("pre", JSON.stringify(content, null, 2)));
  return made;
}

function parameters(document, operation) {
  const table = element("table");
  for (const parameter of operation.parameters ?? []) {
    const row = element("tr");
    const name = element("td");
    name.append(element("code", parameter.name));
    row.append(name, element("td", parameter.in + (parameter.required ? ", required" : "")));
    row.append(element("td", values(resolve(document, parameter.schema ?? {}))), prose("td", parameter.description));
    table.append(row);
  }
  return table;
}

function section(document, method, path, operation) {
  const made = element("section", "", { id: operation.operationId });
  const heading = element("h3");
  heading.append(element("span", method.toUpperCase(), { class: "method" }), element("code", path));
  made.append(heading, prose("p", operation.summary));
  if (operation.description) made.append(prose("p", operation.description));
  if (operation.parameters?.length) made.append(parameters(document, operation));
  for (const [type, body] of Object.entries(operation.requestBody?.content ?? {})) {
    made.append(details(`Request body: ${type}`, body.examples ?? body.example ?? resolve(document, body.schema)));
    if (body.examples || body.example) made.append(details("Request schema", resolve(document, body.schema)));
  }
  const answers = element("table");
  const faults = element("p", "Errors: ");
  for (const [status, answer] of Object.entries(operation.responses)) {
    const types = Object.keys(answer.content ?? {});
    if (types.join() === "application/problem+json") {
      faults.append(element("span", status, { title: answer.description, class: "status" }));
      continue;
    }
    const row = element("tr");
    row.append(element("td", status), prose("td", answer.description), element("td", types.join(", ")));
    answers.append(row);
  }
  made.append(answers, faults);
  for (const [status, answer] of Object.entries(operation.responses)) {
    const json = answer.content?.["application/json"];
    if (json?.schema && status < "300") made.append(details(`Answer ${status}`, resolve(document, json.schema)));
  }
  return made;
}

async function main() {
  const answer = await fetch("/openapi.json");
  const document_ = await answer.json();
  document.getElementById("title").textContent = `${document_.info.title} API ${document_.info.version}`;
  document.getElementById("summary").textContent = document_.info.summary ?? "";
  const contents = document.getElementById("contents");
  const groups = new Map();
  const operations = document.getElementById("operations");
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const link = element("a", `${method.toUpperCase()} ${path}`, { href: `#${operation.operationId}` });
      const entry = element("li");
      entry.append(link);
      const tag = operation.tags?.[0] ?? "Other";
      if (!groups.has(tag)) groups.set(tag, element("ul"));
      groups.get(tag).append(entry);
      operations.append(section(document_, method, path, operation));
    }
  }
  for (const [tag, list] of groups) {
    const group = element("div");
    group.append(element("h2", tag), list);
    contents.append(group);
  }
}

main();
