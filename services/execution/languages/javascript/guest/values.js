// Values: a bounded look at each; and exactly: what JSON has no word for is {"$": kind, "v": ...}, as in every language's kernel.
"use strict";

const util = require("node:util");

const MAX_ITEMS = 200000;
const MAX_CHARACTERS = 4000000;
const DEEPEST = 60;
const LONGEST_VIEW = 10000;
const ORIGIN = Symbol("origin"); // what a date or an array was in the language that it came from
const TEXTS = ["uuid", "time", "decimal"];

class NotPlain extends Error {}

const tagged = (kind, v, more) => ({ $: kind, v, ...more });

function marked(value, origin) {
  Object.defineProperty(value, ORIGIN, { value: origin, enumerable: false, configurable: true, writable: true });
  return value;
}

function number(value) {
  if (Object.is(value, -0)) return tagged("float", "-0.0");
  if (Number.isFinite(value)) return value;
  return tagged("float", Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/** As the others write it: no fraction, or one of microseconds. */
function utc(date) {
  return date.toISOString().replace(/\.000Z$/, "+00:00").replace(/Z$/, "000+00:00");
}

function encoder() {
  let items = MAX_ITEMS;
  let characters = MAX_CHARACTERS;
  let depth = 0;
  const counted = (text) => {
    characters -= text.length;
    if (characters < 0) throw new NotPlain("it is too large");
    return text;
  };
  const whole = (value) => {
    if (value > 2n ** 12000n || value < -(2n ** 12000n)) throw new NotPlain("it is too large");
    return tagged("int", String(value));
  };
  const list = (value) => Array.from(value, encode);
  const array = (value) => {
    const origin = value[ORIGIN];
    if (origin?.kind === "factor" && value.every((part) => part == null || origin.levels.includes(part))) {
      const codes = value.map((part) => (part == null ? -1 : origin.levels.indexOf(part)));
      return tagged("factor", codes, { levels: origin.levels, ordered: origin.ordered });
    }
    if (origin?.kind === "array") return tagged("array", list(value), { dtype: origin.dtype });
    if (origin?.kind === "tuple") return tagged("tuple", list(value));
    return list(value);
  };
  const bytes = (value) => tagged("bytes", counted(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")));
  const view = (value) => {
    if (value instanceof Uint8Array || value instanceof DataView) return bytes(value);
    const dtype = value.constructor.name.replace(/Array$/, "").replace("Big", "").replace("Clamped", "").toLowerCase();
    return tagged("array", list(value), { dtype });
  };
  const object = (value) => {
    if (value instanceof Date) {
      const origin = value[ORIGIN];
      if (origin !== undefined && origin.time === value.getTime()) return origin.exact;
      return Number.isNaN(value.getTime()) ? tagged("missing", null) : tagged("datetime", utc(value), { zone: "UTC" });
    }
    if (Array.isArray(value)) return array(value);
    if (value instanceof Map) {
      const pairs = [...value];
      return tagged("map", pairs.map(([key, inner]) => [encode(key), encode(inner)]));
    }
    if (value instanceof Set) return tagged("set", list(value));
    if (value instanceof ArrayBuffer) return bytes(new Uint8Array(value));
    if (ArrayBuffer.isView(value)) return view(value);
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return encode(value.valueOf());
    if (util.types.isPromise(value) || util.types.isRegExp(value) || value instanceof Error) {
      throw new NotPlain("it has no form outside of its language");
    }
    if (typeof value.toJSON === "function") return encode(value.toJSON());
    const pairs = Object.entries(value);
    if (Object.hasOwn(value, "$")) return tagged("map", pairs.map(([key, inner]) => [encode(key), encode(inner)]));
    const made = Object.create(null);
    for (const [key, inner] of pairs) made[counted(key)] = encode(inner);
    return made;
  };
  function encode(value) {
    items -= 1;
    if (items < 0) throw new NotPlain("it is too large");
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") return counted(value);
    if (typeof value === "number") return number(value);
    if (value === undefined) return tagged("undefined", null);
    if (typeof value === "bigint") return whole(value);
    if (typeof value !== "object") throw new NotPlain("it has no form outside of its language");
    depth += 1;
    if (depth > DEEPEST) throw new NotPlain("it is nested too deep, or holds itself");
    const made = object(value);
    depth -= 1;
    return made;
  }
  return encode;
}

const PLAIN = [Object, Array, Map, Set, Date, ArrayBuffer, ...["Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32",
  "Uint32", "Float32", "Float64", "BigInt64", "BigUint64"].map((kind) => globalThis[`${kind}Array`])];
const PROTOTYPES = new Set([null, ...PLAIN.map((kind) => kind.prototype)]);
const CALLED = ["toJSON", "constructor", Symbol.iterator, Symbol.toStringTag, util.inspect.custom];

/** Whether a summary of this value runs nothing of the code's: no getter, no proxy, no method. */
function isInert(value, seen = new Set()) {
  if (value === null || typeof value !== "object") return typeof value !== "function";
  if (seen.has(value)) return true;
  seen.add(value);
  if (seen.size > MAX_ITEMS || util.types.isProxy(value) || !PROTOTYPES.has(Object.getPrototypeOf(value))) return false;
  if (ArrayBuffer.isView(value)) return true;
  const descriptors = Object.getOwnPropertyDescriptors(value);
  if (CALLED.some((key) => Object.hasOwn(descriptors, key))) return false;
  const parts = util.types.isMap(value) ? [...value].flat() : util.types.isSet(value) ? [...value] : [];
  return (
    parts.every((each) => isInert(each, seen)) &&
    Reflect.ownKeys(descriptors).every((key) => key === ORIGIN || ("value" in descriptors[key] && isInert(descriptors[key].value, seen)))
  );
}

function exactly(value) {
  try {
    return { kind: "json", exact: encoder()(value) };
  } catch (error) {
    return { kind: "opaque", why: error instanceof NotPlain ? error.message : `it raised ${error?.name}` };
  }
}

/** The value that was encoded, or what this language has for it. */
function decode(exact) {
  if (exact === null || typeof exact !== "object") return exact;
  if (Array.isArray(exact)) return exact.map(decode);
  if (!Object.hasOwn(exact, "$")) {
    const made = {};
    for (const [key, inner] of Object.entries(exact)) {
      Object.defineProperty(made, key, { value: decode(inner), enumerable: true, configurable: true, writable: true });
    }
    return made;
  }
  const { $: kind, v } = exact;
  if (kind === "undefined") return undefined;
  if (kind === "missing") return null;
  if (kind === "int") return BigInt(v);
  if (kind === "float") return v === "nan" ? NaN : v === "-0.0" ? -0 : v === "inf" ? Infinity : -Infinity;
  if (kind === "date" || kind === "datetime") return moment(exact);
  if (kind === "bytes") return new Uint8Array(Buffer.from(v, "base64"));
  if (kind === "set") return new Set(v.map(decode));
  if (kind === "map") return pairs(v.map(([key, inner]) => [decode(key), decode(inner)]));
  if (kind === "tuple") return marked(v.map(decode), { kind });
  if (kind === "array") return Array.isArray(v) ? marked(v.map(decode), { kind, dtype: exact.dtype }) : decode(v);
  if (kind === "factor") return marked(v.map((code) => (code < 0 ? null : exact.levels[code])), { ...exact, kind });
  if (kind === "decimal") return Number(v);
  if (kind === "duration") return v / 1000;
  if (kind === "complex") return { re: decode(v[0]), im: decode(v[1]) };
  return TEXTS.includes(kind) ? v : decode(v);
}

function pairs(entries) {
  if (!entries.every(([key]) => typeof key === "string")) return new Map(entries);
  return Object.fromEntries(entries);
}

/** A date that remembers its zone, its microseconds, or that it has no time. */
function moment(exact) {
  const zoned = exact.$ === "date" || /(Z|[+-]\d\d:\d\d(:\d\d)?)$/.test(exact.v);
  const made = new Date(zoned ? exact.v : `${exact.v}Z`);
  return marked(made, { time: made.getTime(), exact });
}

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
  try {
    return sizesOf(value);
  } catch {
    return null; // it does not let itself be looked at
  }
}

function sizesOf(value) {
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

module.exports = { ORIGIN, decode, exactly, isInert, marked, shapeOf, typeOf, view };
