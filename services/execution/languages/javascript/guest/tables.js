// Tables: arrays of flat objects leave as columns of plain binary, their kinds in the message; they come as rows.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { ORIGIN, decode, exactly, marked, shapeOf, typeOf, view } = require("./values.js");

const OUT = "/out";
const MISSING_INTEGER = -(2n ** 63n);
const MISSING_DOUBLE = 0x7ff00000000007a2n;

function isFlat(row) {
  if (row === null || typeof row !== "object" || Array.isArray(row)) return false;
  return Object.values(row).every((cell) => cell == null || typeof cell !== "object" || cell instanceof Date || cell instanceof Uint8Array);
}

function kindOf(cells) {
  const every = (test) => cells.every((cell) => cell == null || test(cell));
  if (every((cell) => typeof cell === "boolean")) return "logical";
  if (every((cell) => Number.isSafeInteger(cell) && !Object.is(cell, -0))) return "long";
  if (every((cell) => typeof cell === "bigint" && cell > MISSING_INTEGER && cell < 2n ** 63n)) return "long";
  if (every((cell) => typeof cell === "number")) return "double";
  if (every((cell) => cell instanceof Date)) return "datetime";
  if (every((cell) => cell instanceof Uint8Array)) return "bytes";
  return "string";
}

function texts(cells) {
  const bodies = cells.map((cell) => {
    if (cell == null) return null;
    if (cell instanceof Uint8Array) return Buffer.from(cell);
    return Buffer.from(cell instanceof Date ? String(cell.toJSON()) : String(cell));
  });
  const sizes = Int32Array.from(bodies, (body) => (body === null ? -1 : body.length));
  return [Buffer.from(sizes.buffer), Buffer.concat(bodies.filter((body) => body !== null))];
}

function written(kind, cells) {
  if (kind === "string" || kind === "bytes") return texts(cells);
  const wide = kind !== "logical";
  const data = Buffer.alloc(cells.length * (wide ? 8 : 4));
  cells.forEach((cell, row) => {
    const at = row * (wide ? 8 : 4);
    const moment = kind === "datetime" || kind === "date";
    const missing = cell == null || (moment && Number.isNaN(cell.getTime()));
    if (kind === "logical") data.writeInt32LE(missing ? -(2 ** 31) : Number(cell), at);
    else if (kind === "long") data.writeBigInt64LE(missing ? MISSING_INTEGER : BigInt(cell), at);
    else if (missing) data.writeBigUInt64LE(MISSING_DOUBLE, at);
    else data.writeDoubleLE(moment ? cell.getTime() / (kind === "date" ? 86400000 : 1000) : cell, at);
  });
  return [data];
}

function tableOf(value, filename = "result.table", columns = null) {
  const names = columns === null ? [...new Set(value.flatMap((row) => Object.keys(row)))] : columns.map(({ name }) => name);
  fs.rmSync(path.join(OUT, filename), { force: true }); // the code's umask may have closed the last one
  const file = fs.openSync(path.join(OUT, filename), "w");
  const described = names.map((name, number) => {
    const cells = value.map((row) => row[name]);
    const as = columns?.[number].type;
    const kind = as?.startsWith("date32") && cells.every((cell) => cell == null || cell instanceof Date) ? "date" : kindOf(cells);
    for (const part of written(kind, cells)) fs.writeSync(file, part);
    const zone = kind === "datetime" ? { zone: "UTC" } : {};
    return { name, kind, rows: value.length, ...zone, ...(as === undefined ? {} : { as }) };
  });
  fs.closeSync(file);
  return { table: filename, columns: described, rows: value.length };
}

/** What take=table brings out: an array of flat objects. */
function asTable(value) {
  const flat = Array.isArray(value) && value.length > 0 && value.every(isFlat) && value.some((row) => Object.keys(row).length > 0);
  return flat ? tableOf(value) : {};
}

/** An array that came here as a table, and whose rows are still records of these columns, or fewer. */
function tableOrigin(value) {
  const origin = Array.isArray(value) ? value[ORIGIN] : undefined;
  if (origin?.kind !== "table" || !value.every(isFlat)) return null;
  const known = new Set(origin.columns.map(({ name }) => name));
  return value.every((row) => Object.keys(row).every((name) => known.has(name))) ? origin : null;
}

function rowsFrom(columns, rows) {
  const made = rows.map((row) => Object.fromEntries(columns.map(({ name }, number) => [name, decode(row[number])])));
  return marked(made, { kind: "table", columns });
}

function lookAt(value, more) {
  const origin = tableOrigin(value);
  if (origin === null) return { ...exactly(value), type: typeOf(value), shape: shapeOf(value), bytes: 0, text: view(value).text };
  const columns = origin.columns.slice(0, 200);
  const rows = value.slice(0, Math.max(5, Math.min(100 * more, Math.floor((5000 * (more + 1)) / Math.max(1, columns.length)))));
  const head = rows.map((row) => columns.map(({ name }) => cellOf(row[name])));
  return { kind: "table", type: "table", bytes: 0, rows: value.length, columns, width: origin.columns.length, head };
}

function cellOf(cell) {
  if (cell == null || typeof cell === "boolean" || Number.isFinite(cell)) return cell ?? null;
  return (cell instanceof Date ? String(cell.toJSON()) : String(cell)).slice(0, 400);
}

module.exports = { asTable, lookAt, rowsFrom, tableOf, tableOrigin };
