"use strict";

const METHODS = ["get", "post", "put", "delete"];

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
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

function parameters(operation) {
  const table = element("table");
  for (const parameter of operation.parameters ?? []) {
    const row = element("tr");
    const name = element("td");
    name.append(element("code", parameter.name));
    row.append(name, element("td", parameter.in + (parameter.required ? ", required" : "")));
    row.append(element("td", parameter.description ?? ""));
    table.append(row);
  }
  return table;
}

function section(document, method, path, operation) {
  const made = element("section", "", { id: operation.operationId });
  const heading = element("h3");
  heading.append(element("span", method.toUpperCase(), { class: "method" }), element("code", path));
  made.append(heading, element("p", operation.summary ?? ""));
  if (operation.description) made.append(element("p", operation.description));
  if (operation.parameters?.length) made.append(parameters(operation));
  for (const [type, body] of Object.entries(operation.requestBody?.content ?? {})) {
    made.append(details(`Request body: ${type}`, body.examples ?? body.example ?? resolve(document, body.schema)));
    if (body.examples || body.example) made.append(details("Request schema", resolve(document, body.schema)));
  }
  const answers = element("table");
  for (const [status, answer] of Object.entries(operation.responses)) {
    const row = element("tr");
    const types = Object.keys(answer.content ?? {}).join(", ");
    row.append(element("td", status), element("td", answer.description), element("td", types));
    answers.append(row);
  }
  made.append(answers);
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
  const contents = element("ul");
  const operations = document.getElementById("operations");
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const link = element("a", `${method.toUpperCase()} ${path}`, { href: `#${operation.operationId}` });
      const entry = element("li");
      entry.append(link);
      contents.append(entry);
      operations.append(section(document_, method, path, operation));
    }
  }
  document.getElementById("contents").append(contents);
}

main();
