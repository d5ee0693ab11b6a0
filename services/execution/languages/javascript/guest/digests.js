// What every name holds, in short: equal digests are equal values, down to which parts of them are one object.
"use strict";

const { createHash } = require("node:crypto");
const fs = require("node:fs");
const inspector = require("node:inspector");
const Module = require("node:module");
const path = require("node:path");
const util = require("node:util");
const vm = require("node:vm");

const FOLDERS = ["/work", "/tmp", "/dev/shm"];

/** A reader of this realm's values, with built-ins of its own: the code may have changed ours. */
function begin(kernel) {
  const session = new inspector.Session();
  session.connect();
  const post = (method, parameters) => {
    let failure = null;
    let reply = null;
    session.post(method, parameters, (error, result) => {
      failure = error;
      reply = result;
    });
    if (failure !== null) throw new Error(failure.message);
    return reply;
  };
  const host = { Module, createHash, folders: FOLDERS, fs, kernel, path, post, process, realm: globalThis, types: util.types };
  return vm.runInContext(`(${reader})`, vm.createContext({}))(host);
}

function reader({ Module, createHash, folders, fs, kernel, path, post, process, realm, types }) {
  const MILLISECONDS = 400;
  const DEEPEST = 300;
  const SET_TIME = 60_000_000_000n; // nanoseconds between the time of a file and that of its last change
  const HELD = Symbol.for("assay.digested");
  const WORD = /[\p{ID_Start}_$][\p{ID_Continue}$]*/gu;
  const LEADS = new Map([
    ...["eval", "Function", "globalThis", "global", "AsyncFunction"].map((word) => [word, "@everything"]),
    ...["require", "import", "process", "module", "console"].map((word) => [word, "@library"]),
  ]);
  const COMPUTED = /\bthis\s*\[/; // of the global object
  const toSource = Function.prototype.toString;
  const read = { map: Map.prototype.entries, set: Set.prototype.values, time: Date.prototype.getTime };
  const cpuUsage = process.cpuUsage.bind(process);
  const spent = () => { // milliseconds of the processor: a busy machine makes no value too large to compare
    const { user, system } = cpuUsage();
    return (user + system) / 1000;
  };
  const hash = (data) => createHash("sha256").update(data).digest("hex").slice(0, 32);

  class NotDetermined extends Error {}

  // -- what was there before any code -------------------------------------------------------------------------------

  const intrinsics = new Map(); // object -> name
  const note = (name, value) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || intrinsics.has(value)) return;
    intrinsics.set(value, name);
    if (value === process || value === realm || name === "require" || name.startsWith("hidden ")) return;
    for (const key of Reflect.ownKeys(value)) { // objects and classes within: Intl's, unscopables
      const each = Reflect.getOwnPropertyDescriptor(value, key)?.value;
      if (typeof each === "object" || key === "prototype" || (typeof each === "function" && each.prototype !== undefined)) note(`${name}.${String(key)}`, each);
    }
  };
  for (const name of Reflect.ownKeys(realm)) {
    const held = Reflect.getOwnPropertyDescriptor(realm, name);
    if (typeof name !== "string" || !("value" in held) || !kernel.own.has(name)) continue;
    note(name, held.value);
  }
  note("Buffer", realm.Buffer); // behind an accessor
  note("Buffer.prototype", realm.Buffer.prototype);
  const hidden = kernel.hidden();
  for (const name of Object.keys(hidden)) note(`hidden ${name}`, hidden[name]);
  intrinsics.delete(realm);

  const shape = (value) => {
    const held = new Map();
    for (const key of Reflect.ownKeys(value)) held.set(key, Reflect.getOwnPropertyDescriptor(value, key));
    return held;
  };
  const flags = (held) => `${held.writable} ${held.enumerable} ${held.configurable}`;
  const holdsSame = (a, b) => a !== undefined && b !== undefined && Object.is(a.value, b.value) && a.get === b.get && a.set === b.set;
  const same = (a, b) => holdsSame(a, b) && flags(a) === flags(b);
  const UNCOMPARED = new Set(["process", "process.prototype"]);
  const before = new Map();
  const outside = (value) => [Object.isExtensible(value), Reflect.getPrototypeOf(value)];
  for (const [value, name] of intrinsics) if (!UNCOMPARED.has(name)) before.set(value, [shape(value), outside(value)]);
  const globals = shape(realm);
  const processBefore = shape(process);
  const objectsOf = (held) => [...held].map(([key, { value }]) => [key, value]).filter(([, value]) => typeof value === "object" && value !== null);
  const VOLATILE = new Set(["_events", "_eventsCount", "_exiting", "domain", "exitCode", "title"]); // or read by themselves
  const withinProcess = objectsOf(processBefore).filter(([key, value]) => !VOLATILE.has(key) && value !== process.env && !intrinsics.has(value)).map(([key, value]) => [key, value, shape(value)]);
  const METHODS = new Set(["setImmediate", "setInterval", "setTimeout"]); // that built-in objects have
  for (const value of before.keys()) for (const key of Reflect.ownKeys(value)) METHODS.add(key);
  const pending = () => {
    const counts = new Map();
    for (const each of process.getActiveResourcesInfo()) counts.set(each, (counts.get(each) ?? 0) + 1);
    return counts;
  };
  const waiting = pending();
  const listeners = new Set(process.eventNames().flatMap((name) => process.rawListeners(name)));

  const SETTING = /\b(set[A-Z]\w*|createHook|subscribe|mark|measure)\b/g;
  let searched = 0;
  let set = false;
  /** Whether the code calls what sets something within Node that no object shows. */
  function settings() {
    for (; !set && searched < kernel.codes.length; searched += 1) {
      for (const [, word] of kernel.codes[searched].matchAll(SETTING)) {
        const defined = new RegExp(`(?:function\\s+|(?:^|[^.\\w$]))${word}\\s*(?:[:=]|\\([^()]*\\)\\s*\\{)`);
        if (!METHODS.has(word) && !kernel.codes.some((code) => defined.test(code))) set = true;
      }
    }
    return set;
  }

  // -- functions: what only the inspector sees ----------------------------------------------------------------------

  const ids = new Map();
  const remote = (value) => {
    kernel.hand(value);
    return post("Runtime.evaluate", { expression: 'globalThis[Symbol.for("assay.handed")]', objectGroup: "assay" }).result;
  };
  const real = (objectId) => {
    const caught = [];
    kernel.hand(caught);
    const declaration = 'function () { globalThis[Symbol.for("assay.handed")][0] = this; }';
    post("Runtime.callFunctionOn", { objectId, functionDeclaration: declaration, objectGroup: "assay" });
    kernel.hand(undefined);
    return caught[0];
  };
  const inside = (value) => {
    const { objectId } = remote(value);
    kernel.hand(undefined);
    const shown = post("Runtime.getProperties", { objectId, ownProperties: true });
    const internal = new Map((shown.internalProperties ?? []).map((each) => [each.name, each.value]));
    return { internal, secrets: shown.privateProperties ?? [] };
  };
  /** What functions share that may see the same variables: the inspector makes each scope again for each of them. */
  const marks = new Map();
  const markOf = (variables) => {
    const text = variables.join();
    if (!marks.has(text)) marks.set(text, {});
    return marks.get(text);
  };
  const scopes = (value) => {
    const { internal } = inside(value);
    const list = internal.get("[[Scopes]]");
    if (list === undefined) return null;
    const found = [];
    for (const { value: scope } of post("Runtime.getProperties", { objectId: list.objectId, ownProperties: true }).result) {
      const kind = String(scope?.description ?? "").replace(/ .*/, "");
      if (kind === "Global" || kind === "Script" || scope === undefined) continue;
      if (kind === "Module") throw new NotDetermined("a function of a module cannot be compared");
      const made = real(scope.objectId);
      const held = made?.object ?? made;
      found.push({ held, mark: markOf(Reflect.ownKeys(held)) });
    }
    return found;
  };

  // -- values -------------------------------------------------------------------------------------------------------

  /** A global name that functions stand behind. */
  class Accessor {
    constructor({ get, set }) {
      this.get = get;
      this.set = set;
    }
  }

  class Reader {
    constructor(names, until) {
      this.names = names;
      this.until = until;
      this.changing = new Set();
      this.refs = new Set();
      this.parts = [];
      this.numbers = new Map();
      this.depth = 0;
      this.count = 0;
    }
    tag(text) {
      this.parts.push(`${text.length}:${text}`);
    }
    digest() {
      return hash(this.parts.join(""));
    }
    words(text) {
      if (COMPUTED.test(text)) this.refs.add("@everything");
      for (const [word] of text.matchAll(WORD)) {
        this.refs.add(word);
        if (LEADS.has(word)) this.refs.add(LEADS.get(word));
      }
    }
    value(value) {
      if (value instanceof Accessor) {
        this.tag("accessor");
        this.value(value.get);
        return this.value(value.set);
      }
      switch (typeof value) {
        case "undefined": return this.parts.push("u;");
        case "boolean": return this.parts.push(value ? "T" : "F");
        case "number": return this.parts.push(Object.is(value, -0) ? "n-0;" : `n${value};`);
        case "bigint": return this.parts.push(`i${value};`);
        case "string": return this.parts.push(`s${value.length}:${value}`);
        case "symbol": return this.tag(`symbol ${Symbol.keyFor(value) ?? value.description ?? ""}`);
        default: return value === null ? this.parts.push("0;") : this.object(value);
      }
    }
    object(value) {
      this.count += 1;
      if (this.count % 256 === 0 && spent() > this.until) throw new NotDetermined("comparing it takes too long");
      if (this.depth > DEEPEST) throw new NotDetermined("it is nested too deeply to compare");
      if (intrinsics.has(value)) {
        this.tag(`built in ${intrinsics.get(value)}`);
        if (value === process || value === realm.require || value === realm.console) this.refs.add("@library");
        return;
      }
      if (value === realm) {
        this.refs.add("@everything");
        return this.tag("global");
      }
      const number = this.numbers.get(value);
      if (number !== undefined) return this.parts.push(`@${number};`);
      this.numbers.set(value, this.numbers.size);
      this.changing.add(value);
      this.depth += 1;
      try {
        if (typeof value === "function") this.function(value);
        else this.plain(value);
      } finally {
        this.depth -= 1;
      }
    }
    named(value) {
      const name = this.depth > 1 && typeof value === "function" ? Reflect.getOwnPropertyDescriptor(value, "name")?.value : undefined;
      if (typeof name !== "string" || this.names.get(name) !== value) return false;
      this.tag(`named ${name}`);
      this.refs.add(name);
      this.changing.delete(value);
      return true;
    }
    function(value) {
      if (this.named(value)) return;
      if (types.isProxy(value)) throw new NotDetermined("a proxy cannot be compared");
      const source = toSource.call(value);
      this.tag(source);
      if (!Object.isExtensible(value)) this.tag("closed");
      if (source.endsWith("{ [native code] }")) {
        const { internal } = inside(value);
        if (!internal.has("[[TargetFunction]]")) return this.library(value);
        for (const name of ["[[TargetFunction]]", "[[BoundThis]]", "[[BoundArgs]]"]) this.inner(internal.get(name));
        return this.properties(value, new Set());
      }
      if (!kernel.codes.some((code) => code.includes(source))) return this.library(value);
      this.words(source);
      for (const { held, mark } of scopes(value) ?? []) {
        this.changing.add(mark);
        this.object(held);
      }
      if (source.startsWith("class") && source.includes("#")) {
        for (const { name, value: held } of inside(value).secrets) {
          this.tag(name);
          this.inner(held);
        }
      }
      const extra = new Set(["arguments", "caller"]);
      const made = Reflect.getOwnPropertyDescriptor(value, "prototype")?.value;
      if (made !== undefined && made !== null && Reflect.ownKeys(made).every((key) => key === "constructor") && !source.startsWith("class")) extra.add("prototype");
      this.properties(value, extra);
      const parent = Reflect.getPrototypeOf(value);
      if (parent === null || !/^(hidden|Function)/.test(intrinsics.get(parent) ?? "")) this.value(parent);
    }
    library(value) {
      const name = modules().get(value);
      if (name === undefined) throw new NotDetermined("a function that is not of the code cannot be compared");
      this.changing.delete(value);
      this.tag(name);
      this.refs.add("@library");
    }
    inner(shown) {
      if (shown === undefined) return this.tag("none");
      if (shown.objectId !== undefined) return this.value(real(shown.objectId));
      return this.tag(`${shown.type} ${shown.unserializableValue ?? String(shown.value)}`);
    }
    plain(value) {
      if (types.isProxy(value)) throw new NotDetermined("a proxy cannot be compared");
      const module = modules().get(value);
      if (module !== undefined) {
        this.changing.delete(value);
        this.refs.add("@library");
        return this.tag(module);
      }
      const skipped = new Set();
      const opaque = this.content(value, skipped);
      const parent = Reflect.getPrototypeOf(value);
      const known = parent === null ? "null" : intrinsics.get(parent);
      if (opaque && known !== undefined && !ORDINARY.has(known)) throw new NotDetermined(`${known.replace(/^hidden |\.prototype$/g, "")} objects cannot be compared`);
      if (parent === null) this.tag("no prototype");
      else if (!this.isMadeByNamed(parent)) this.value(parent);
      if (!Object.isExtensible(value)) this.tag("closed");
      if (opaque && known === undefined) this.secrets(value, parent);
      this.properties(value, skipped);
    }
    /** Put its name in the place of the prototype of a class that a name of the code holds. */
    isMadeByNamed(parent) {
      const maker = Reflect.getOwnPropertyDescriptor(parent, "constructor")?.value;
      const name = typeof maker === "function" ? Reflect.getOwnPropertyDescriptor(maker, "name")?.value : undefined;
      if (typeof name !== "string" || this.names.get(name) !== maker || maker.prototype !== parent) return false;
      this.tag(`made by ${name}`);
      this.refs.add(name);
      return true;
    }
    /** What stands in no property; whether that may be more than is known. */
    content(value, skipped) {
      if (Array.isArray(value)) {
        this.tag(`array ${value.length} ${Reflect.getOwnPropertyDescriptor(value, "length").writable}`);
        skipped.add("length");
      } else if (types.isMap(value)) {
        this.tag("map");
        for (const [key, each] of read.map.call(value)) {
          this.value(key);
          this.value(each);
        }
      } else if (types.isSet(value)) {
        this.tag("set");
        for (const each of read.set.call(value)) this.value(each);
      } else if (types.isDate(value)) this.tag(`date ${read.time.call(value)}`);
      else if (types.isRegExp(value)) this.tag(`pattern ${RegExp.prototype.toString.call(value)}`);
      else if (types.isAnyArrayBuffer(value)) this.tag(`buffer ${hash(new Uint8Array(value))}`);
      else if (ArrayBuffer.isView(value)) {
        this.tag(`view ${value.constructor?.name} ${value.byteOffset} ${value.byteLength} ${value.length}`);
        this.value(value.buffer);
        if (!types.isDataView(value)) for (let at = 0; at < value.length; at += 1) skipped.add(String(at));
      } else if (types.isNativeError(value)) {
        this.tag("error");
        skipped.add("stack");
        if (Reflect.getOwnPropertyDescriptor(realm.Error, "prepareStackTrace") !== undefined) throw new NotDetermined("an error whose stack the code writes cannot be compared");
        const stack = Reflect.getOwnPropertyDescriptor(value, "stack")?.value;
        if (typeof stack !== "string" || !stack.includes("/guest/kernel.js:")) this.value(stack); // not as Node has written it
      } else if (types.isBoxedPrimitive(value)) this.tag(`boxed ${typeof value.valueOf()} ${String(value.valueOf())}`);
      else if (types.isArgumentsObject(value)) this.tag("arguments");
      else if (OPAQUE.some(([is]) => is(value))) {
        throw new NotDetermined(`${OPAQUE.find(([is]) => is(value))[1]} cannot be compared`);
      } else return true;
      return false;
    }
    secrets(value, parent) {
      for (let each = parent; each !== null && !intrinsics.has(each); each = Reflect.getPrototypeOf(each)) {
        const maker = Reflect.getOwnPropertyDescriptor(each, "constructor")?.value;
        if (typeof maker !== "function") continue;
        const source = toSource.call(maker);
        if (!kernel.codes.some((code) => code.includes(source))) throw new NotDetermined("an object of a library cannot be compared");
        if (!source.includes("#")) continue;
        for (const { name, value: held } of inside(value).secrets) {
          this.tag(name);
          this.inner(held);
        }
      }
    }
    properties(value, skipped) {
      const keys = Reflect.ownKeys(value);
      this.tag(String(keys.length));
      for (const key of keys) {
        if (skipped.has(key)) continue;
        const held = Reflect.getOwnPropertyDescriptor(value, key);
        this.value(key);
        if (!(held.writable !== false && held.enumerable && held.configurable)) this.tag(flags(held));
        if ("value" in held) this.value(held.value);
        else {
          this.value(held.get);
          this.value(held.set);
        }
      }
    }
  }

  const ORDINARY = new Set(["null", "Object.prototype", "Function.prototype", "Error.prototype", "hidden generator prototype"]);
  const OPAQUE = [
    [types.isPromise, "a promise"],
    [types.isGeneratorObject, "a generator"],
    [types.isWeakMap, "a weak map"],
    [types.isWeakSet, "a weak set"],
    [types.isMapIterator, "an iterator"],
    [types.isSetIterator, "an iterator"],
    [types.isModuleNamespaceObject, "a module"],
    [types.isExternal, "a native object"],
  ];

  /** The modules that Node has loaded, and what they export. */
  let known = null;
  function modules() {
    if (known !== null) return known;
    known = new Map();
    const loaded = new Set(process.moduleLoadList);
    known.set(kernel.require("node:fs/promises"), "module fs/promises");
    for (const name of Module.builtinModules) {
      if (!loaded.has(`NativeModule ${name}`)) continue;
      const held = process.getBuiltinModule?.(name) ?? kernel.require(name);
      known.set(held, `module ${name}`);
      for (const key of Reflect.ownKeys(held)) {
        const each = Reflect.getOwnPropertyDescriptor(held, key)?.value;
        if ((typeof each === "function" || (typeof each === "object" && each !== null)) && !known.has(each)) known.set(each, `${name}.${String(key)}`);
        if (typeof each === "function" && each.prototype && !known.has(each.prototype)) known.set(each.prototype, `${name}.${String(key)}.prototype`);
      }
    }
    return known;
  }

  const isOfCode = (value) => typeof value === "function" && kernel.codes.some((code) => code.includes(toSource.call(value)));

  const inspectOptions = () => kernel.require("node:util").inspect.defaultOptions;
  const exported = new Map(); // what the modules that Node had loaded exported before any code
  for (const held of modules().keys()) exported.set(held, shape(held));

  // -- parts of the kernel ------------------------------------------------------------------------------------------

  const files = new Map();
  const PARTS = {
    "@builtins"(reader) {
      for (const [kind, count] of pending()) {
        if (count > (waiting.get(kind) ?? 0) && kind !== "FSReqCallback") throw new NotDetermined("work of the code is still pending (a timer, a promise, a server)");
      }
      for (const [value, [was, [extensible, parent]]] of before) {
        const now = shape(value);
        const [open, above] = outside(value);
        if (open !== extensible || above !== parent) {
          reader.tag(`${intrinsics.get(value)} ${open}`);
          reader.value(above);
        }
        for (const key of new Set([...was.keys(), ...now.keys()])) {
          const old = was.get(key);
          if (same(old, now.get(key))) continue;
          reader.tag(`${intrinsics.get(value)} ${String(key)}`);
          if (holdsSame(old, now.get(key))) reader.tag(flags(now.get(key)));
          else changed(reader, now.get(key));
        }
      }
      for (const [key, was] of globals) {
        const now = Reflect.getOwnPropertyDescriptor(realm, key);
        if (same(was, now)) continue;
        if (was.get !== undefined && now !== undefined && "value" in now && modules().has(now.value)) continue; // loaded when first used
        reader.tag(`global ${String(key)}`);
        changed(reader, now);
      }
      for (const key of Object.getOwnPropertySymbols(realm)) {
        if (globals.has(key)) continue;
        reader.value(key);
        changed(reader, Reflect.getOwnPropertyDescriptor(realm, key));
      }
      reader.tag(String(process.env.TZ)); // each date is shown by it
      if (settings()) throw new NotDetermined("what the code has set of Node's modules cannot be compared");
    },
    "@process"(reader) {
      reader.tag(JSON.stringify(Object.entries({ ...process.env }).sort()));
      reader.tag(JSON.stringify([process.cwd(), process.umask(), process.argv, String(process.exitCode), process.title]));
      for (const [key, now] of shape(process)) {
        if (VOLATILE.has(key) || same(processBefore.get(key), now)) continue;
        reader.value(key);
        changed(reader, now);
      }
      for (const [place, value, was] of withinProcess) {
        const now = shape(value);
        for (const key of new Set([...was.keys(), ...now.keys()])) {
          if (same(was.get(key), now.get(key))) continue;
          reader.tag(`${String(place)} ${String(key)}`);
          changed(reader, now.get(key));
        }
      }
      for (const [key, now] of shape(realm.console)) {
        if (typeof key !== "symbol" || key.description !== "counts" || !types.isMap(now.value)) continue;
        for (const [label, count] of read.map.call(now.value)) reader.tag(`${label} ${count}`);
      }
      for (const name of process.eventNames()) {
        if (["uncaughtException", "SIGINT"].includes(name)) continue;
        for (const listener of process.rawListeners(name)) {
          if (listeners.has(listener)) continue;
          reader.tag(String(name));
          reader.value(listener);
        }
      }
    },
    "@modules"(reader) {
      reader.tag(JSON.stringify([kernel.require("node:events").defaultMaxListeners, inspectOptions()], (_, each) => each === Infinity ? "all" : each));
      for (const [ending, load] of Object.entries(Module._extensions)) {
        if (!isOfCode(load)) continue;
        reader.tag(ending);
        reader.value(load);
      }
      for (const [held, name] of modules()) {
        const was = exported.get(held);
        if (was === undefined && typeof held !== "object" && typeof held !== "function") continue;
        for (const key of Reflect.ownKeys(held)) {
          const now = Reflect.getOwnPropertyDescriptor(held, key);
          if (was === undefined ? !isOfCode(now.value) : same(was.get(key), now) || now.get !== undefined) continue;
          reader.tag(`${name} ${String(key)}`);
          reader.value(now.value);
        }
      }
      for (const [file, module] of ownModules()) {
        reader.tag(file);
        kernel.codes.push(fs.readFileSync(file, "utf8"));
        reader.value(module.exports);
        kernel.codes.pop();
      }
    },
    "@files"(reader) {
      const todo = [...folders];
      while (todo.length > 0) {
        const folder = todo.pop();
        let names = [];
        try {
          names = fs.readdirSync(folder).sort();
        } catch {
          continue;
        }
        for (const name of names) {
          const file = path.join(folder, name);
          const state = fs.lstatSync(file, { bigint: true });
          const mark = `${state.mtimeNs} ${state.size} ${state.ino}`;
          let content = "";
          if (state.isDirectory()) todo.push(file);
          else if (state.isFile()) {
            content = files.get(file)?.mark === mark ? files.get(file).content : hashed(file);
            files.set(file, { mark, content });
          }
          const apart = state.mtimeNs - state.ctimeNs;
          const written = apart > SET_TIME || apart < -SET_TIME ? state.mtimeNs : ""; // the code has set it
          reader.tag(`${file} ${state.mode} ${content} ${written}`);
        }
      }
    },
  };
  function hashed(file) {
    try {
      return hash(fs.readFileSync(file));
    } catch (error) {
      return String(error.code);
    }
  }
  function ownModules() {
    return Object.entries(Module._cache).filter(([file]) => folders.some((folder) => file.startsWith(`${folder}/`)));
  }
  /** What modules of the code's own export: a name may hold the same object. */
  function exportedByOwn() {
    const objects = new Set();
    for (const [, { exports }] of ownModules()) {
      objects.add(exports);
      if (exports === null || typeof exports !== "object" || types.isProxy(exports)) continue;
      for (const key of Reflect.ownKeys(exports)) objects.add(Reflect.getOwnPropertyDescriptor(exports, key).value);
    }
    return objects;
  }
  /** What Node itself holds: a name of the code may be an alias of it (`const words = process.argv`). */
  function heldByNode() {
    const objects = new Set([inspectOptions(), process.env, Module._cache, Module._pathCache, Module.globalPaths, Module.builtinModules]);
    for (const [, value] of objectsOf(shape(process))) objects.add(value);
    return objects;
  }
  function changed(reader, held) {
    if (held === undefined) return reader.tag("gone");
    reader.tag(flags(held));
    reader.value(held.value);
    reader.value(held.get);
    return reader.value(held.set);
  }

  // -- all names ----------------------------------------------------------------------------------------------------

  function said(reader, work) {
    try {
      work();
      return { value: reader.digest(), refs: [...reader.refs] };
    } catch (error) {
      const why = error instanceof NotDetermined ? error.message : `comparing it failed: ${String(error?.message).slice(0, 100)}`;
      return { value: null, why, refs: [...reader.refs, "@library", "@everything"] }; // what else it reads is not known
    }
  }

  /** How each name was made: a value alone does not say what may be done with its name. */
  const bound = new Map();

  function held() {
    const names = new Map();
    for (const [name, how] of bound) if (how !== "let" && how !== "const") bound.delete(name);
    for (const name of Object.getOwnPropertyNames(realm)) {
      if (kernel.own.has(name) || kernel.emptied.has(name)) continue;
      const each = Reflect.getOwnPropertyDescriptor(realm, name);
      names.set(name, "value" in each ? each.value : new Accessor(each));
      const { writable = true, enumerable, configurable } = each;
      bound.set(name, configurable ? (writable && enumerable ? "" : `${writable} ${enumerable}`) : writable ? "var" : "fixed");
    }
    for (const name of post("Runtime.globalLexicalScopeNames", {}).names) {
      try {
        names.set(name, kernel.valueOf(name));
      } catch {
        names.set(name, undefined); // declared, and never given a value
      }
      if (!bound.has(name)) bound.set(name, kernel.isConstant(name) ? "const" : "let");
    }
    return names;
  }

  /** The names that share objects which can change, sorted, in groups of two and more. */
  function grouped(now) {
    const holders = new Map();
    const leader = new Map([...now.keys()].map((name) => [name, name]));
    const first = (name) => {
      let at = name;
      while (leader.get(at) !== at) at = leader.get(at);
      return at;
    };
    for (const [name, { changing }] of now) {
      for (const object of changing) {
        if (holders.has(object)) leader.set(first(name), first(holders.get(object)));
        else holders.set(object, name);
      }
    }
    const groups = new Map();
    for (const name of [...now.keys()].sort()) groups.set(first(name), [...(groups.get(first(name)) ?? []), name]);
    return [...groups.values()].filter((group) => group.length > 1);
  }

  function unread(groups, fresh) {
    return groups.filter((group) => group.some((name) => fresh.has(name))).flat().filter((name) => !fresh.has(name));
  }

  /** Each name as it was read last: those that code could not reach are not read again. */
  let last = new Map();

  return function digests(reached) {
    known = null;
    const until = spent() + MILLISECONDS;
    const names = held();
    const among = reached === null ? null : new Set(reached);
    const now = new Map();
    const fresh = new Set();
    const read = (name) => {
      const reader = new Reader(names, until);
      const value = names.get(name);
      const how = bound.get(name);
      const made = said(reader, () => {
        reader.tag(how);
        reader.value(value);
      });
      now.set(name, { value, made: { ...made, bound: how }, changing: reader.changing });
      fresh.add(name);
    };
    for (const [name, value] of names) {
      const each = last.get(name);
      if (each === undefined || among === null || among.has(name) || !Object.is(each.value, value)) read(name);
      else now.set(name, each);
    }
    let groups = grouped(now);
    // What shares objects with a name that was read may have changed with it.
    for (let partners = unread(groups, fresh); partners.length > 0; partners = unread(groups, fresh)) {
      partners.forEach(read);
      groups = grouped(now);
    }
    last = now;
    const made = {};
    for (const [name, each] of now) made[name] = { ...each.made };
    for (const group of groups) {
      const reader = new Reader(names, until);
      const together = said(reader, () => group.forEach((name) => reader.value(names.get(name))));
      for (const name of group) made[name].shared = hash(`${group} ${together.value}`);
    }
    const ofModules = exportedByOwn();
    const ofNode = heldByNode();
    for (const [name, { value, changing }] of now) {
      const leads = [...(value !== null && typeof value === "object" && ofModules.has(value) ? ["@modules"] : []), ...([...ofNode].some((each) => changing.has(each)) ? ["@library"] : [])];
      if (leads.length === 0) continue;
      made[name].refs = [...new Set([...made[name].refs, ...leads])];
      made[name].shared ??= made[name].value ?? name; // to restore its value alone would part it from the other's
    }
    for (const [name, readPart] of Object.entries(PARTS)) {
      if (reached !== null && !reached.includes(name)) continue;
      const reader = new Reader(names, until);
      made[name] = said(reader, () => readPart(reader));
    }
    post("Runtime.releaseObjectGroup", { objectGroup: "assay" });
    return made;
  };
}

module.exports = { begin };
