// Tables as HTML, for the pages of documents.
"use strict";

const util = require("node:util");

const MAX_ROWS = 50;
const MAX_COLUMNS = 50;
const LONGEST_CELL = 400;
const INDEX = "(index)";

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

function cell(value) {
  const text = value === undefined ? "" : typeof value === "string" ? value : util.inspect(value, { depth: 1, breakLength: Infinity });
  return escaped(text.slice(0, LONGEST_CELL));
}

const isRecord = (value) => {
  if (value === null || typeof value !== "object") return false;
  const above = Object.getPrototypeOf(value);
  return (above === Object.prototype || above === null) && Object.keys(value).length > 0;
};

/** Whether a value is a list of plain records whose cells are no lists or records themselves. */
function isTableOfRecords(value) {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((row) => isRecord(row) && Object.values(row).every((each) => each === null || typeof each !== "object" || each instanceof Date));
}

/** Rows of cells as console.table lists them, or null for what it only prints. */
function rowsOfConsole(data) {
  if (data === null || typeof data !== "object") return null;
  const entries = data instanceof Map ? [...data].map(([key, Value], at) => [at, { Key: key, Value }]) : data instanceof Set ? [...data].entries() : Object.entries(data);
  const rows = [];
  for (const [index, row] of entries) {
    const cells = row !== null && typeof row === "object" ? Object.entries(row) : [["Values", row]];
    rows.push(Object.fromEntries([[INDEX, index], ...cells]));
  }
  return rows;
}

function htmlTable(rows, wanted) {
  const first = rows.slice(0, MAX_ROWS);
  const names = (wanted ?? [...new Set(first.flatMap((row) => Object.keys(row)))]).slice(0, MAX_COLUMNS);
  const side = (name) => (first.every((row) => row[name] == null || typeof row[name] === "number") ? ' align="right"' : "");
  const sides = names.map(side);
  const line = (tag, texts) => `<tr>${texts.map((text, at) => `<${tag}${sides[at]}>${text}</${tag}>`).join("")}</tr>`;
  const head = line("th", names.map((name) => (name === INDEX ? "" : escaped(String(name)))));
  const body = first.map((row) => line("td", names.map((name) => cell(row[name]))));
  const more = rows.length > first.length ? `<p>${rows.length} rows in all, the first ${first.length} here</p>` : "";
  return `<table><thead>${head}</thead><tbody>${body.join("")}</tbody></table>${more}`;
}

module.exports = { htmlTable, isTableOfRecords, rowsOfConsole };
