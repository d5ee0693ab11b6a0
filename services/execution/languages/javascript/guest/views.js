// Looks at values: a type, a shape, a bounded text.
"use strict";

const util = require("node:util");

const LONGEST_VIEW = 10000;

function typeOf(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  try {
    return value.constructor?.name || "Object";
  } catch {
    return "Object";
  }
}

function shapeOf(value) {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return [value.length ?? value.byteLength];
  if (value instanceof Map || value instanceof Set) return [value.size];
  return null;
}

function view(value) {
  let text;
  try {
    text = util.inspect(value, { depth: 4, maxArrayLength: 200, maxStringLength: LONGEST_VIEW });
  } catch (error) {
    text = `<${typeOf(value)}: it cannot be shown (${error?.name})>`;
  }
  return { type: typeOf(value), shape: shapeOf(value), text: text.slice(0, LONGEST_VIEW) };
}

module.exports = { typeOf, shapeOf, view };
