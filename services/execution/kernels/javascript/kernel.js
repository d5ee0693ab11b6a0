// The JavaScript kernel: one global scope, requests from descriptor 3, replies on descriptor 4.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");
const { createRequire } = require("node:module");

const REQUESTS = 3;
const REPLIES = 4;
const WORK = "/work";
const CODE = "/code";
const OUT = "/out";
const LONGEST_VIEW = 10000;
const MOST_DISPLAYS = 50;
const LONGEST_INLINE = 60000;

let nonce = "";
let calls = 0;
let shown = 0;
const exit = process.exit.bind(process);

function send(message) {
  const body = Buffer.from(JSON.stringify({ ...message, nonce }));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  const data = Buffer.concat([head, body]);
  let offset = 0;
  while (offset < data.length) {
    try {
      offset += fs.writeSync(REPLIES, data, offset);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function readExactly(size, done) {
  const data = Buffer.alloc(size);
  let offset = 0;
  const more = () =>
    fs.read(REQUESTS, data, offset, size - offset, null, (error, count) => {
      if (error || count === 0) return done(null);
      offset += count;
      return offset === size ? done(data) : more();
    });
  return size === 0 ? done(data) : more();
}

function nextRequest(handle) {
  readExactly(4, (head) => {
    if (head === null) return exit(0);
    return readExactly(head.readUInt32BE(0), (body) => (body === null ? exit(0) : handle(JSON.parse(body))));
  });
}

// -- looks at values ---------------------------------------------------------------------------------------------

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

function typed(value) {
  const look = view(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { ...look, kind: "datetime", json: value.toISOString() };
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return { ...look, kind: "opaque" };
  try {
    const plain = value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value;
    const json = JSON.stringify(plain === undefined ? null : plain);
    return { ...look, kind: "json", json: JSON.parse(json) };
  } catch {
    return { ...look, kind: "opaque" };
  }
}

function described(error) {
  const named = error instanceof Error || (error && typeof error.stack === "string");
  const message = String(named ? error.message : util.inspect(error)).slice(0, 20000);
  const lines = named ? String(error.stack).split("\n") : [`Uncaught ${message}`];
  const trace = lines.filter((line) => !/^\s+at .*(node:|\/runtime\/kernels\/)/.test(line)).join("\n");
  let limit = null;
  if (error?.code === "ENOSPC" || error?.code === "EFBIG") limit = "disk";
  if (error?.code === "EAGAIN" && /spawn|fork/.test(String(error.syscall))) limit = "processes";
  if (error?.code === "ERR_WORKER_INIT_FAILED") limit = "processes";
  if (/Array buffer allocation failed/.test(message)) limit = "memory";
  return { type: named ? error.name || typeOf(error) : typeof error, message, traceback: trace.slice(0, 20000), limit };
}

// -- tables: an array of flat objects leaves as columns of plain binary, their kinds in the message ----------------

const MISSING_INTEGER = -(2n ** 63n);
const MISSING_DOUBLE = 0x7ff00000000007a2n;

function isFlat(row) {
  if (row === null || typeof row !== "object" || Array.isArray(row)) return false;
  return Object.values(row).every((cell) => cell == null || typeof cell !== "object" || cell instanceof Date);
}

function kindOf(cells) {
  const every = (test) => cells.every((cell) => cell == null || test(cell));
  if (every((cell) => typeof cell === "boolean")) return "logical";
  if (every((cell) => Number.isSafeInteger(cell) && !Object.is(cell, -0))) return "long";
  if (every((cell) => typeof cell === "bigint" && cell > MISSING_INTEGER && cell < 2n ** 63n)) return "long";
  if (every((cell) => typeof cell === "number")) return "double";
  if (every((cell) => cell instanceof Date)) return "datetime";
  return "string";
}

function texts(cells) {
  const bodies = cells.map((cell) => {
    if (cell == null) return null;
    return Buffer.from(cell instanceof Date ? String(cell.toJSON()) : String(cell));
  });
  const sizes = Int32Array.from(bodies, (body) => (body === null ? -1 : body.length));
  return [Buffer.from(sizes.buffer), Buffer.concat(bodies.filter((body) => body !== null))];
}

function written(kind, cells) {
  if (kind === "string") return texts(cells);
  const wide = kind !== "logical";
  const data = Buffer.alloc(cells.length * (wide ? 8 : 4));
  cells.forEach((cell, row) => {
    const at = row * (wide ? 8 : 4);
    const missing = cell == null || (kind === "datetime" && Number.isNaN(cell.getTime()));
    if (kind === "logical") data.writeInt32LE(missing ? -(2 ** 31) : Number(cell), at);
    else if (kind === "long") data.writeBigInt64LE(missing ? MISSING_INTEGER : BigInt(cell), at);
    else if (missing) data.writeBigUInt64LE(MISSING_DOUBLE, at);
    else data.writeDoubleLE(kind === "datetime" ? cell.getTime() / 1000 : cell, at);
  });
  return [data];
}

function tableOf(value) {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isFlat)) return {};
  const names = [...new Set(value.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return {};
  const file = fs.openSync(path.join(OUT, "result.table"), "w");
  const columns = names.map((name) => {
    const cells = value.map((row) => row[name]);
    const kind = kindOf(cells);
    for (const part of written(kind, cells)) fs.writeSync(file, part);
    return { name, kind, rows: value.length };
  });
  fs.closeSync(file);
  return { table: "result.table", columns, rows: value.length };
}

// -- displays ----------------------------------------------------------------------------------------------------

function display(value) {
  if (shown >= MOST_DISPLAYS) return;
  shown += 1;
  let mediaType = "text/plain";
  let text;
  if (typeof value === "string") {
    text = value;
    if (/^\s*<svg[\s>]/i.test(value)) mediaType = "image/svg+xml";
    else if (/^\s*<(!doctype|[a-z][a-z0-9]*)[\s>]/i.test(value)) mediaType = "text/html";
  } else {
    const made = typed(value);
    if (made.kind === "json" && typeof value === "object") mediaType = "application/json";
    text = mediaType === "application/json" ? JSON.stringify(made.json) : made.text;
  }
  if (text.length <= LONGEST_INLINE) return send({ t: "display", media_type: mediaType, text });
  const file = `display-${shown}`;
  fs.writeFileSync(path.join(OUT, file), text);
  return send({ t: "display", media_type: mediaType, file });
}

// -- running -----------------------------------------------------------------------------------------------------

function compiled(code, filename) {
  const options = { filename };
  const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  if (loader !== undefined) options.importModuleDynamically = loader;
  return new vm.Script(code, options);
}

/** The program, or null when it is no script but may be a module or use await at its top. */
function asScript(code, filename) {
  try {
    return compiled(code, filename);
  } catch (error) {
    const modern = /await is only valid|import statement|Unexpected (token|identifier|reserved word)|import\.meta|missing \) after/;
    if (/\b(await|import|export)\b/.test(code) && modern.test(error.message)) return null;
    throw error;
  }
}

/** Code with await at its top, as a function; its last line is its value if that can be an expression. */
function asFunction(code, filename) {
  const cut = code.trimEnd().replace(/;+$/, "");
  const at = Math.max(cut.lastIndexOf("\n"), cut.lastIndexOf(";")) + 1;
  for (const body of [`${cut.slice(0, at)} return (${cut.slice(at)}\n)`, code]) {
    try {
      return compiled(`(async () => {${body}\n})()`, filename);
    } catch {
      continue;
    }
  }
  return null;
}

async function run(code, filename) {
  const script = asScript(code, filename) ?? asFunction(code, filename);
  if (script !== null) return await script.runInThisContext({ breakOnSigint: true });
  const file = filename.replace(/\.js$/, ".mjs");
  fs.writeFileSync(file, code);
  await import(file);
  return undefined;
}

function seeded(seed) {
  let state = seed >>> 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const own = new Set(Object.getOwnPropertyNames(globalThis));

const operations = {
  async execute(request) {
    calls += 1;
    const filename = `${CODE}/main${calls === 1 ? "" : `_${calls}`}.js`;
    fs.writeFileSync(filename, request.code);
    if (calls === 1 && request.seed !== null) seeded(request.seed);
    for (const frame of request.frames) globalThis[frame.name] = JSON.parse(fs.readFileSync(frame.path, "utf8"));
    const value = await run(request.code, filename);
    const reply = { value: value === undefined ? null : view(value), class: typeOf(value) };
    return request.take === "table" ? { ...reply, ...tableOf(value) } : reply;
  },
  async evaluate(request) {
    const value = await compiled(`(${request.code}\n)`, `${CODE}/expression.js`).runInThisContext({ breakOnSigint: true });
    return { value: view(value), class: typeOf(value) };
  },
  get(request) {
    return { typed: typed(compiled(identifier(request.name), "name").runInThisContext()) };
  },
  set(request) {
    const { kind, json } = request.typed;
    globalThis[identifier(request.name)] = kind === "date" || kind === "datetime" ? new Date(json) : json;
    return {};
  },
  list() {
    const names = new Set([...Object.getOwnPropertyNames(globalThis).filter((name) => !own.has(name)), ...lexical]);
    const variables = [];
    for (const name of names) {
      try {
        const value = compiled(name, "name").runInThisContext();
        if (typeof value === "function" || (value === undefined && emptied.has(name))) continue;
        variables.push({ name, type: typeOf(value), shape: shapeOf(value), bytes: 0 });
      } catch {
        continue;
      }
    }
    return { variables };
  },
  remove(request) {
    const name = identifier(request.name);
    if (lexical.has(name) && !Object.hasOwn(globalThis, name) && isDefined(name)) {
      throw new TypeError(`${name} was made by let, const or class: it stays as long as the session; var can be removed`);
    }
    // What var made cannot be deleted either, but it can be emptied, and made again.
    if (!Reflect.deleteProperty(globalThis, name)) {
      globalThis[name] = undefined;
      emptied.add(name);
    }
    return {};
  },
  info() {
    return { language: "javascript", version: process.versions.node };
  },
  packages() {
    return { packages: { ...process.versions } };
  },
};

/** Names that let, const and class made: they stand in no object, so they are read off the code. */
const lexical = new Set();

/** Names that were removed but still stand there, holding nothing. */
const emptied = new Set();

function isDefined(name) {
  try {
    compiled(name, "name").runInThisContext();
    return true;
  } catch {
    return false;
  }
}

function remember(code) {
  for (const found of code.matchAll(/^(?:let|const|class)\s+([A-Za-z_$][\w$]*)/gm)) lexical.add(found[1]);
}

function identifier(name) {
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) throw new SyntaxError(`${JSON.stringify(name)} is no name`);
  return name;
}

// -- the loop ----------------------------------------------------------------------------------------------------

let finish = null; // of a single use: called when nothing is left to do

function answer(request) {
  nonce = request.nonce;
  shown = 0;
  let reply = { t: "result", error: null };
  const end = () => {
    finish = null;
    send(reply);
    if (request.once) exit(reply.error === null ? undefined : 0);
    else setImmediate(() => nextRequest(answer));
  };
  const failed = (error) => {
    reply = { t: "result", error: described(error) };
    if (request.once && request.take === "view") process.stderr.write(`${reply.error.traceback}\n`);
  };
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => {
    failed(error);
    if (request.once) end();
  });
  const operation = Object.hasOwn(operations, request.op) ? operations[request.op] : operations.info;
  if (request.op === "execute") remember(request.code);
  Promise.resolve()
    .then(() => operation(request))
    .then((fields) => Object.assign(reply, fields), failed)
    .then(() => {
      if (!request.once || reply.error !== null) end();
      else finish = end; // timers and pending work of the code come first
    });
}

process.on("beforeExit", () => {
  if (finish !== null) finish();
});
process.on("SIGINT", () => {});
globalThis.require = createRequire(`${WORK}/`);
globalThis.display = display;
own.add("require").add("display");
process.chdir(WORK);
fs.stat("/", () => {
  // The first asynchronous call starts the thread pool: better now than on the code's account.
  send({ t: "hello" });
  nextRequest(answer);
});
