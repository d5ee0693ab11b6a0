// The JavaScript kernel: one global scope, requests from descriptor 3, replies on descriptor 4.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");
const { createRequire } = require("node:module");
const digesting = require("./digests.js");
const { htmlTable, isTableOfRecords, rowsOfConsole } = require("./html.js");
const { asTable, lookAt, rowsFrom, tableOf, tableOrigin } = require("./tables.js");
const { decode, exactly, isInert, shapeOf, typeOf, view } = require("./values.js");

const REQUESTS = 3;
const REPLIES = 4;
const WORK = "/work";
const CODE = "/code";
const OUT = "/out";
const MAX_DISPLAYS = 50;
const LONGEST_INLINE = 60000;
const MAX_BYTES = 16000000;
const JUPYTER = Symbol.for("Jupyter.display");
const RICH = ["text/html", "image/svg+xml", "text/markdown", "text/latex"];
const INTERRUPTED_WITHIN = 50; // milliseconds, of a call that waits

// What decides how a call ended is used as it was before there was any code: code may replace whatever it can name.
const { Script } = vm;
const { runInThisContext } = Script.prototype;
const { apply, construct } = Reflect;
const AsyncFunction = (async () => {}).constructor;
const { create, defineProperty, hasOwn, keys, setPrototypeOf } = Object;
const { isArray } = Array;
const { isPromise } = util.types;
const { read, rmSync, writeFileSync, writeSync } = fs;
const { lastIndexOf, slice } = String.prototype;
const { fromCharCode } = String;
const { parse, stringify } = JSON;
const { utf8Slice } = Buffer.prototype;
const { alloc, from } = Buffer;
const { emit, hasUncaughtExceptionCaptureCallback: hasCapture, on, removeAllListeners } = process;
const { wait } = Atomics;
const { setImmediate, setInterval, clearInterval, Promise } = globalThis;
const never = new Int32Array(new SharedArrayBuffer(4));
const leave = process.exit.bind(process);

let nonce = "";
let calls = 0;
let answered = 0;
let shown = 0;
let printedBefore = [0, 0]; // this call
const printed = () => [process.stdout, process.stderr].map((stream) => stream.bytesWritten ?? 0);

/** Writes a claim; what its frame adds up to goes under the seal, so that no other frame takes its place. */
function send(message) {
  let body = from(stringify(plainly({ ...message, nonce })));
  if (body.length > MAX_BYTES) {
    const error = { type: "TooLarge", message: "What it answers is too large.", traceback: "", limit: null };
    body = from(stringify(plainly({ t: "result", error, nonce })));
  }
  const data = alloc(4 + body.length);
  data.writeUInt32BE(body.length);
  data.set(body, 4);
  let offset = 0;
  while (offset < data.length) {
    try {
      offset += writeSync(REPLIES, data, offset);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
  let claimed = 1;
  for (let at = 4; at < offset; at += 1) claimed += data[at];
  return (claimed % 65521) % 2003;
}

/** The same without prototypes, where the code may have put a toJSON of its own. */
function plainly(value) {
  if (value === null || typeof value !== "object") return value;
  if (isArray(value)) {
    const made = setPrototypeOf([], null);
    for (let at = 0; at < value.length; at += 1) made[at] = plainly(value[at]);
    return made;
  }
  const made = create(null);
  const names = keys(value);
  for (let at = 0; at < names.length; at += 1) made[names[at]] = plainly(value[names[at]]);
  return made;
}

// -- seals -------------------------------------------------------------------------------------------------------

// How a call ended is said under a seal that only this function can make: its key comes with the first request, before there is
// any code. Each call has one for each way to end, so that what the code may learn of one says nothing about another. The
// request is sealed too: code of an earlier call may have put another one in its place.
let key = null;
let asked = null; // the body of the request
const PRIME = 2 ** 31 - 1;

const turned = (word, bits) => (word << bits) | (word >>> (32 - bits));

function sealed(call, outcome, claimed) {
  let a = key.a ^ call ^ polynomial(asked, key.e);
  let b = key.b ^ outcome;
  let c = key.c ^ claimed;
  let d = key.d ^ polynomial(asked, key.f);
  for (let round = 0; round < 16; round += 1) {
    a = (a + b) | 0;
    b = turned(b, 5) ^ a;
    a = turned(a, 16);
    c = (c + d) | 0;
    d = turned(d, 8) ^ c;
    a = (a + d) | 0;
    d = turned(d, 13) ^ a;
    c = (c + b) | 0;
    b = turned(b, 7) ^ c;
    c = turned(c, 16);
  }
  return `${(a ^ key.a) >>> 0}.${(b ^ key.b) >>> 0}.${(c ^ key.c) >>> 0}.${(d ^ key.d) >>> 0}`;
}

/** The value at a secret point, of words of three bytes: exact, as no product reaches 2 ** 53. */
function polynomial(body, point) {
  let value = body.length;
  for (let at = 0; at < body.length; at += 3) {
    let word = body[at];
    if (at + 1 < body.length) word = word * 256 + body[at + 1];
    if (at + 2 < body.length) word = word * 256 + body[at + 2];
    value = (value * point + word) % PRIME;
  }
  return value;
}

/** As text, which nothing of the code's sees on its way. */
function sendEnd(outcome, claimed) {
  const body = `{"t":"end","nonce":"${nonce}","outcome":${outcome},"seal":"${sealed(answered, outcome, claimed)}"}`;
  writeSync(REPLIES, `\0\0\0${fromCharCode(body.length)}${body}`, null, "latin1");
}

// -- requests ----------------------------------------------------------------------------------------------------

function readExactly(size, done) {
  const data = alloc(size);
  let offset = 0;
  const more = () =>
    read(REQUESTS, data, offset, size - offset, null, (error, count) => {
      if (error || count === 0) return done(null);
      offset += count;
      return offset === size ? done(data) : more();
    });
  return size === 0 ? done(data) : more();
}

function nextRequest(handle) {
  readExactly(4, (head) => {
    if (head === null) return leave(0);
    const size = ((head[0] * 256 + head[1]) * 256 + head[2]) * 256 + head[3];
    return readExactly(size, (body) => {
      if (body === null) return leave(0);
      asked = body;
      return handle(parse(apply(utf8Slice, body, [0, size])));
    });
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
  const [mediaType, text] = richForm(value) ?? plainForm(value);
  show(mediaType, text);
}

/** What a value offers beyond text: a bundle as Deno's kernel knows it. */
function richForm(value) {
  if (value === null || typeof value !== "object" || typeof value[JUPYTER] !== "function") return null;
  const bundle = value[JUPYTER]();
  const mediaType = RICH.find((each) => typeof bundle?.[each] === "string");
  return mediaType === undefined ? null : [mediaType, bundle[mediaType]];
}

function plainForm(value) {
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
        text = JSON.stringify(value, (_key, inner) => {
          if (ArrayBuffer.isView(inner) && !(inner instanceof DataView)) return Array.from(inner);
          return typeof inner === "bigint" ? String(inner) : inner;
        });
        mediaType = "application/json";
      } catch {
        text = made.text;
      }
    }
  }
  return [mediaType, text];
}

function show(mediaType, text, value = false) {
  shown += 1;
  if (shown === MAX_DISPLAYS + 1) send({ t: "unshown" });
  if (shown > MAX_DISPLAYS) return undefined;
  const before = printed().map((size, stream) => size - printedBefore[stream]);
  const display = { t: "display", media_type: mediaType, value, printed: before };
  if (text.length <= LONGEST_INLINE) return send({ ...display, text });
  const file = `display-${shown}`;
  fs.rmSync(path.join(OUT, file), { force: true }); // the code's umask may have closed the last one
  fs.writeFileSync(path.join(OUT, file), text);
  return send({ ...display, file });
}

/** A value as the last thing of its code: records are a table, what offers a richer form has that one. */
function showValue(value) {
  const form = richForm(value);
  if (form !== null) show(form[0], form[1], true);
  else if (isTableOfRecords(value)) show("text/html", htmlTable(value), true);
}

// In a document a table of the console is a table of the page.
const printedTable = console.table;
console.table = function table(data, columns) {
  const rows = running?.request.take === "shown" ? rowsOfConsole(data) : null;
  if (rows === null) return apply(printedTable, console, [data, columns]);
  return show("text/html", htmlTable(rows, columns && ["(index)", ...columns]));
};

// -- running -----------------------------------------------------------------------------------------------------

function compiled(code, filename) {
  const options = { __proto__: null, filename };
  const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  if (loader !== undefined) options.importModuleDynamically = loader;
  return new Script(code, options);
}

/** What a script of ours or of the code's is worth; an interrupt ends it. */
function evaluated(script) {
  return apply(runInThisContext, script, [{ __proto__: null, breakOnSigint: true }]);
}

/** A promise that is awaited by itself: not by what the code may have made of every promise's `then`. */
function awaitable(value) {
  if (isPromise(value)) {
    try {
      defineProperty(value, "constructor", { __proto__: null, value: Promise, configurable: true });
    } catch {
      return value; // the code has frozen it
    }
  }
  return value;
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

/** Code with await at its top, as a function; its last line is its value, in a list, if that can be an expression. */
function asFunction(code, filename) {
  if (!isBody(code)) return null;
  let end = code.length;
  while (end > 0 && (code[end - 1] === ";" || code[end - 1] === "\n" || code[end - 1] === " ")) end -= 1;
  const line = apply(lastIndexOf, code, ["\n", end - 1]) + 1;
  const statement = apply(lastIndexOf, code, [";", end - 1]) + 1;
  const at = line > statement ? line : statement;
  const valued = `${apply(slice, code, [0, at])} return [(${apply(slice, code, [at, end])}\n)]`;
  return asBody(valued, filename) ?? asBody(code, filename);
}

function asBody(code, filename) {
  try {
    return compiled(`(async () => {${code}\n})()`, filename);
  } catch {
    return null;
  }
}

/** Whether code is one function's body, which does not end the function that it is put into. */
function isBody(code) {
  try {
    construct(AsyncFunction, [code]);
    return true;
  } catch {
    return false;
  }
}

async function imported(code, filename, done) {
  const file = `${apply(slice, filename, [0, -3])}.mjs`;
  writeFileSync(file, code);
  try {
    await awaitable(import(file));
  } catch (error) {
    return done(error, undefined, true);
  } finally {
    rmSync(file, { force: true });
  }
  return done(null, undefined);
}

function isThenable(value) {
  try {
    return isPromise(value) || typeof value?.then === "function";
  } catch {
    return false; // it does not let itself be looked at: that is no error of the code's
  }
}

/** Runs code; `done` hears of what it raised, or of its value, which stands in a list where its script is `boxed`. */
async function run({ script, boxed }, done) {
  let value;
  try {
    value = evaluated(script);
    if (isThenable(value)) value = await awaitable(value);
    if (boxed) value = value?.[0];
    if (boxed && isThenable(value)) value = await awaitable(value);
  } catch (error) {
    return done(error, undefined, true);
  }
  return done(null, value);
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

/** Code of the caller's: each starts a script, and says what becomes of its value. */
const programs = {
  execute(request, done) {
    calls += 1;
    const number = request.number ?? calls;
    const filename = `${CODE}/main${number === 1 ? "" : `_${number}`}.js`;
    codes.push(request.code);
    if (calls === 1) fs.writeFileSync(filename, request.code); // there is little space for more
    if (calls === 1 && request.seed !== null) seeded(request.seed);
    for (const frame of request.frames) globalThis[frame.name] = parse(fs.readFileSync(frame.path, "utf8"));
    const plain = asScript(request.code, filename);
    if (plain !== null) return run({ script: plain, boxed: false }, done);
    const script = asFunction(request.code, filename);
    return script === null ? imported(request.code, filename, done) : run({ script, boxed: true }, done);
  },
  evaluate(request, done) {
    codes.push(request.code);
    return run({ script: compiled(`(${request.code}\n)`, `${CODE}/expression.js`), boxed: false }, done);
  },
};

const BINDINGS = { __proto__: null, var: "var", let: "let", const: "const" }; // ways to make a name that is restored

const results = {
  execute(request, value) {
    if (request.take === "shown") showValue(value);
    const reply = { value: value === undefined ? null : view(value), class: typeOf(value) };
    return request.take === "table" ? { ...reply, ...asTable(value) } : reply;
  },
  evaluate(request, value) {
    const look = view(value);
    return { value: look, class: typeOf(value), ...(request.file === undefined ? {} : { typed: { ...look, ...exactly(value) } }) };
  },
};

const operations = {
  look(request) {
    const looks = Object.create(null);
    for (const name of request.names) {
      if (!IDENTIFIER.test(name) || own.has(name) || !isDefined(name)) continue;
      if (request.passive && Object.getOwnPropertyDescriptor(globalThis, name)?.get !== undefined) continue;
      const value = evaluated(compiled(name, "name"));
      if (value === undefined && emptied.has(name)) continue;
      if (request.passive && !isInert(value)) continue;
      looks[name] = lookAt(value, request.whole.includes(name) ? 10 : 1);
    }
    return { looks };
  },
  digests(request) {
    digests ??= digesting.begin({ own, emptied, codes, require: globalThis.require, hidden, hand, isConstant, valueOf });
    return { digests: digests(request.reached) };
  },
  picture() {
    throw new TypeError("it is not a figure");
  },
  get(request) {
    const value = evaluated(compiled(identifier(request.name), "name"));
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
    const declare = BINDINGS[request.bound];
    const made = kind === "table" ? rowsFrom(columns, rows ?? JSON.parse(fs.readFileSync(file, "utf8"))) : decode(exact);
    if (lexical.has(name) && !Object.hasOwn(globalThis, name) && isDefined(name)) {
      handed = made; // let can be given a new value, const cannot: it says so
      evaluated(compiled(`${name} = globalThis[Symbol.for("assay.handed")]`, "name"));
      handed = undefined;
    } else if (declare !== undefined && !Object.hasOwn(globalThis, name)) {
      handed = made;
      evaluated(compiled(`${declare} ${name} = globalThis[Symbol.for("assay.handed")]`, "name"));
      handed = undefined;
      if (declare !== "var") lexical.add(name);
    } else globalThis[name] = made;
    return kind === "table" ? {} : exactly(made);
  },
  list() {
    const names = new Set([...Object.getOwnPropertyNames(globalThis).filter((name) => !own.has(name)), ...lexical]);
    const variables = [];
    for (const name of names) {
      try {
        const value = evaluated(compiled(name, "name"));
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
  return evaluated(compiled(name, "name"));
}

/** Whether a name of let, const or class takes no other value. */
function isConstant(name) {
  try {
    evaluated(compiled(`${name} = ${name}`, "name"));
    return false;
  } catch {
    return true;
  }
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
    evaluated(compiled(name, "name"));
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

const RETURNED = 0;
const RAISED = 1;
let running = null; // the call that runs
let once = false;
let exiting = false;

function answer(request) {
  if (key === null) {
    const [a, b, c, d, e, f] = request.seal;
    key = { a, b, c, d, e, f };
    process.chdir(WORK); // init may have put another folder there for the run
  }
  nonce = request.nonce;
  answered += 1;
  shown = 0;
  printedBefore = printed();
  ({ once } = request);
  if (process.listenerCount("SIGINT") > 0) {
    apply(removeAllListeners, process, ["SIGINT"]); // the code has put its own in the handler's place
    watchdog.stopSigintWatchdog();
    watchdog.startSigintWatchdog();
  }
  wasInterrupted(); // was for an earlier call
  const call = { request, over: false, error: null, failed: false, value: undefined, settled: false, waiting: null };
  running = call;
  // Ends a call that waits for something; vm ends one that computes.
  if (!once) call.waiting = setInterval(() => wasInterrupted() && fail(call, new Error("interrupted")), INTERRUPTED_WITHIN).unref();
  apply(removeAllListeners, process, ["uncaughtException"]);
  apply(on, process, ["uncaughtException", (error) => uncaught(call, error)]);
  if (request.op === "execute") remember(request.code);
  if (!hasOwn(programs, request.op)) return answerOwn(call);
  try {
    programs[request.op](request, (error, value, failed = false) => ended(call, error, value, failed));
  } catch (error) {
    fail(call, error);
  }
  return undefined;
}

/** An operation of ours, which runs no program. */
function answerOwn(call) {
  const operation = hasOwn(operations, call.request.op) ? operations[call.request.op] : operations.info;
  try {
    conclude(call, RETURNED, operation(call.request));
  } catch (error) {
    fail(call, error);
  }
}

/** The program's own text has come to its end; its timers and pending work come first where there is no other call. */
function ended(call, error, value, failed) {
  if (failed) return fail(call, error);
  call.settled = true;
  call.value = value;
  if (call.failed || !once) finish(call);
  return undefined;
}

function uncaught(call, error) {
  if (call.over) return showLate(error);
  call.failed = true;
  call.error = error;
  if (once || call.settled) finish(call);
}

/** What an earlier call of a session has left behind failed between two calls: the next one shows it. */
function showLate(error) {
  try {
    process.stderr.write(`${explained(error).traceback}\n`);
  } catch {
    // The code has taken the stream away.
  }
}

function fail(call, error) {
  call.failed = true;
  call.error = error;
  finish(call);
}

function finish(call) {
  if (call.over) return;
  if (call.failed) return conclude(call, RAISED, { error: explained(call.error) });
  let fields;
  try {
    fields = results[call.request.op](call.request, call.value);
  } catch {
    fields = { value: { type: typeof call.value, shape: null, text: "<it cannot be shown>" }, class: typeof call.value };
  }
  return conclude(call, RETURNED, fields);
}

function explained(error) {
  try {
    return described(error);
  } catch {
    return { type: "Error", message: "What was thrown cannot be shown.", traceback: "", limit: null };
  }
}

/** The one place where a call ends. */
function conclude(call, ending, fields) {
  if (call.over) return;
  call.over = true;
  running = null;
  clearInterval(call.waiting);
  let outcome = ending;
  let claimed = 0;
  try {
    if (once && ending === RAISED && call.request.take === "view") process.stderr.write(`${fields.error.traceback}\n`);
    if (once && !exiting) runExitHandlers();
    const status = once ? Number(process.exitCode ?? 0) : 0;
    if (ending === RETURNED && status !== 0) {
      outcome = RAISED;
      fields = { exit: status };
    }
    claimed = send({ t: "result", error: null, ...fields });
  } catch {
    // What it claims is lost; how it ended is not.
  }
  try {
    sendEnd(outcome, claimed);
  } catch {
    leave(70); // the code has closed the way
  }
  if (once) wait(never, 0, 0); // nothing of the code's runs any more
  setImmediate(() => nextRequest(answer));
}

const left = new Error("left"); // thrown where an exit handler leaves once more

function runExitHandlers() {
  exiting = true;
  try {
    apply(emit, process, ["exit", process.exitCode ?? 0]);
  } catch (error) {
    if (error === left) return;
    process.exitCode = 7;
    process.stderr.write(`${explained(error).traceback}\n`);
  }
}

/** A script that leaves has come to its end, and what it did counts. */
process.exit = function exit(code) {
  if (!once) return leave(code);
  if (code !== undefined) process.exitCode = code;
  if (exiting) throw left;
  const call = running;
  if (call === null) return wait(never, 0, 0);
  runExitHandlers();
  return conclude(call, call.failed ? RAISED : RETURNED, call.failed ? { error: explained(call.error) } : {});
};

function idle() {
  if (running === null) return;
  if (running.settled) finish(running);
  else fail(running, new Error("The code waits for what can never come: nothing is left that could settle its await."));
}

// Node calls this by its name when nothing is left to do; the code keeps its listeners, but cannot take this one away.
defineProperty(process, "emit", {
  __proto__: null,
  value: function emitted(name) {
    if (name === "exit" && once && process._exiting) idle(); // the listeners of beforeExit had no more to do
    if (name === "uncaughtExceptionMonitor" && running !== null && !hasCapture()) {
      running.failed = true; // before a listener of the code's could leave
      running.error = arguments[1];
    }
    const heard = apply(emit, process, arguments);
    if (name === "beforeExit" && !once) idle();
    return heard;
  },
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
