// The JavaScript kernel: one global scope, requests from descriptor 3, replies on descriptor 4.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");
const { createRequire } = require("node:module");
const digesting = require("./digests.js");
const { asTable, lookAt, rowsFrom, tableOf, tableOrigin } = require("./tables.js");
const { decode, exactly, shapeOf, typeOf, view } = require("./values.js");

const REQUESTS = 3;
const REPLIES = 4;
const WORK = "/work";
const CODE = "/code";
const OUT = "/out";
const MOST_DISPLAYS = 50;
const LONGEST_INLINE = 60000;
const MOST_BYTES = 16000000;
const INTERRUPTED_WITHIN = 50; // milliseconds, of a call that waits

let nonce = "";
let calls = 0;
let shown = 0;
const exit = process.exit.bind(process);
const stringify = JSON.stringify; // as it was before any code could change it

function send(message) {
  let body = Buffer.from(stringify({ ...message, nonce }));
  if (body.length > MOST_BYTES) {
    const error = { type: "TooLarge", message: "What it answers is too large.", traceback: "", limit: null };
    body = Buffer.from(stringify({ t: "result", error, nonce }));
  }
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  const data = Buffer.concat([head, body]);
  let offset = 0;
  while (offset < data.length) {
    try {
      offset += fs.writeSync(REPLIES, data, offset);
    } catch (error) {
      if (error.code === "EAGAIN") continue;
      // The code has closed it: then it ends as it would without us, and says no more.
      if (message.error) exit(1);
      exit();
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

function described(error) {
  const named = error instanceof Error || (error && typeof error.stack === "string");
  const message = String(named ? error.message : util.inspect(error)).slice(0, 20000);
  const lines = named ? String(error.stack).split("\n") : [`Uncaught ${message}`];
  const trace = lines.filter((line) => !/^\s+at .*(node:|\/runtime\/guest\/)/.test(line)).join("\n");
  let limit = null;
  if (error?.code === "ENOSPC" || error?.code === "EFBIG") limit = "disk";
  if (error?.code === "EAGAIN" && /spawn|fork/.test(String(error.syscall))) limit = "processes";
  if (error?.code === "ERR_WORKER_INIT_FAILED") limit = "processes";
  if (/Array buffer allocation failed/.test(message)) limit = "memory";
  return { type: named ? error.name || typeOf(error) : typeof error, message, traceback: trace.slice(0, 20000), limit };
}

// -- displays ----------------------------------------------------------------------------------------------------

function display(value) {
  shown += 1;
  if (shown === MOST_DISPLAYS + 1) send({ t: "unshown" });
  if (shown > MOST_DISPLAYS) return;
  let mediaType = "text/plain";
  let text;
  if (typeof value === "string") {
    text = value;
    if (/^\s*<svg[\s>]/i.test(value)) mediaType = "image/svg+xml";
    else if (/^\s*<(!doctype|[a-z][a-z0-9]*)[\s>]/i.test(value)) mediaType = "text/html";
  } else {
    const made = { ...view(value), ...exactly(value) };
    text = made.text;
    if (made.kind === "json" && typeof value === "object") {
      try {
        text = JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? String(inner) : inner));
        mediaType = "application/json";
      } catch {
        text = made.text;
      }
    }
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
  await import(file).finally(() => fs.rmSync(file));
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
    const number = request.number ?? calls;
    const filename = `${CODE}/main${number === 1 ? "" : `_${number}`}.js`;
    codes.push(request.code);
    if (calls === 1) fs.writeFileSync(filename, request.code); // there is little space for more
    if (calls === 1 && request.seed !== null) seeded(request.seed);
    for (const frame of request.frames) globalThis[frame.name] = JSON.parse(fs.readFileSync(frame.path, "utf8"));
    const value = await run(request.code, filename);
    const reply = { value: value === undefined ? null : view(value), class: typeOf(value) };
    return request.take === "table" ? { ...reply, ...asTable(value) } : reply;
  },
  async evaluate(request) {
    codes.push(request.code);
    const value = await compiled(`(${request.code}\n)`, `${CODE}/expression.js`).runInThisContext({ breakOnSigint: true });
    return { value: view(value), class: typeOf(value), ...(request.file === undefined ? {} : { typed: { ...view(value), ...exactly(value) } }) };
  },
  look(request) {
    const looks = Object.create(null);
    for (const name of request.names) {
      if (!IDENTIFIER.test(name) || own.has(name) || !isDefined(name)) continue;
      const value = compiled(name, "name").runInThisContext();
      if (value === undefined && emptied.has(name)) continue;
      looks[name] = lookAt(value, request.whole.includes(name) ? 10 : 1);
    }
    return { looks };
  },
  digests(request) {
    digests ??= digesting.begin({ own, emptied, codes, require: globalThis.require, hidden, hand, valueOf });
    return { digests: digests(request.reached) };
  },
  picture() {
    throw new TypeError("it is no figure");
  },
  get(request) {
    const value = compiled(identifier(request.name), "name").runInThisContext();
    if (value === undefined && emptied.has(request.name)) throw new ReferenceError(`${request.name} is not defined`);
    const origin = tableOrigin(value);
    if (origin === null) return { typed: { ...view(value), ...exactly(value) } };
    const { columns, rows } = tableOf(value, request.file, origin.columns);
    return { typed: { ...view(value), type: "table", kind: "table", file: request.file, columns, rows } };
  },
  set(request) {
    const { kind, exact, columns, rows, path: file } = request.typed;
    const name = identifier(request.name);
    emptied.delete(name);
    const made = kind === "table" ? rowsFrom(columns, rows ?? JSON.parse(fs.readFileSync(file, "utf8"))) : decode(exact);
    if (lexical.has(name) && !Object.hasOwn(globalThis, name) && isDefined(name)) {
      handed = made; // let can be given a new value, const cannot: it says so
      compiled(`${name} = globalThis[Symbol.for("assay.handed")]`, "name").runInThisContext();
      handed = undefined;
    } else globalThis[name] = made;
    return kind === "table" ? {} : exactly(made);
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

/** All code so far: functions whose source stands in none of it are a library's. */
const codes = [];

let digests = null; // from their first request on

function valueOf(name) {
  return compiled(name, "name").runInThisContext();
}

function hand(value) {
  handed = value;
}

/** Built-in objects that no global name leads to. */
function hidden() {
  const generator = function* () {};
  const made = {
    "generator function": Object.getPrototypeOf(generator),
    "generator": generator.prototype ? Object.getPrototypeOf(generator.prototype) : null,
    "async function": Object.getPrototypeOf(async () => {}),
    "async generator function": Object.getPrototypeOf(async function* () {}),
    "typed array": Object.getPrototypeOf(Uint8Array),
    "typed array prototype": Object.getPrototypeOf(Uint8Array.prototype),
    "array iterator": Object.getPrototypeOf([][Symbol.iterator]()),
    "string iterator": Object.getPrototypeOf(""[Symbol.iterator]()),
    "iterator": Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
    "regular expression iterator": Object.getPrototypeOf("".matchAll(/a/g)),
  };
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value));
}

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
  for (const [, name] of code.matchAll(/^(?:let|const|class)\s+([A-Za-z_$][\w$]*)/gm)) lexical.add(name);
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** What set hands over to a name that stands in no object. */
let handed;
Object.defineProperty(globalThis, Symbol.for("assay.handed"), { get: () => handed });

function identifier(name) {
  if (!IDENTIFIER.test(name)) throw new SyntaxError(`${JSON.stringify(name)} is no name`);
  return name;
}

// -- the loop ----------------------------------------------------------------------------------------------------

// Each script that vm may interrupt has Node's own handler of SIGINT put in place and taken away again; in between the signal
// would end the kernel. Held here for good, the handler stays, and remembers a signal that no script was there for.
const watchdog = process.binding("contextify");
watchdog.startSigintWatchdog();

/** Whether an interrupt has come while no script ran; it is forgotten then. */
function wasInterrupted() {
  watchdog.startSigintWatchdog();
  return watchdog.stopSigintWatchdog();
}

let finish = null; // of a single use: called when nothing is left to do

function answer(request) {
  if (nonce === "") process.chdir(WORK); // init may have put another folder there for the run
  nonce = request.nonce;
  shown = 0;
  let reply = { t: "result", error: null };
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    finish = null;
    clearInterval(waiting);
    send(reply);
    if (request.once) reply.error === null ? exit() : exit(1); // without a status it is the one that the code has set
    else setImmediate(() => nextRequest(answer));
  };
  const failed = (error) => {
    reply = { t: "result", error: described(error) };
    if (request.once && request.take === "view") process.stderr.write(`${reply.error.traceback}\n`);
  };
  if (process.listenerCount("SIGINT") > 0) {
    process.removeAllListeners("SIGINT"); // the code has put its own in the handler's place
    watchdog.stopSigintWatchdog();
    watchdog.startSigintWatchdog();
  }
  wasInterrupted(); // was for an earlier call
  let waiting = null;
  const cut = new Promise((_, reject) => { // ends a call that waits for something; vm ends one that computes
    if (!request.once) waiting = setInterval(() => wasInterrupted() && reject(new Error("interrupted")), INTERRUPTED_WITHIN);
  });
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => {
    failed(error);
    if (request.once) end();
  });
  const operation = Object.hasOwn(operations, request.op) ? operations[request.op] : operations.info;
  if (request.op === "execute") remember(request.code);
  Promise.resolve()
    .then(() => Promise.race([operation(request), cut]))
    .then((fields) => Object.assign(reply, fields), failed)
    .then(() => {
      if (!request.once || reply.error !== null) end();
      else finish = end; // timers and pending work of the code come first
    });
}

process.on("beforeExit", () => {
  if (finish !== null) finish();
});
// Node buffers what a full pipe does not take, and drops it when the code exits.
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);
const [warn] = process.listeners("warning");
process.removeAllListeners("warning");
process.on("warning", (warning) => /USE_MAIN_CONTEXT_DEFAULT_LOADER/.test(warning.message) || warn?.(warning)); // ours
globalThis.require = createRequire(`${WORK}/`);
globalThis.display = display;
own.add("require").add("display");
process.chdir(WORK);
fs.stat("/", () => {
  // The first asynchronous call starts the thread pool: better now than on the code's account.
  send({ t: "hello" });
  nextRequest(answer);
});
