"""Traps that change the kernel from within: its functions, frames, libraries and requests, hooks, handlers, exits."""

# ruff: noqa: E501 - programs, many of which are one line
from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.services.execution.sandbox.forgery_traps import Trap

_FIND = """
import gc, os, signal, sys, threading, time
S = sys.modules["services.execution.sandbox.guest.service"]
P = sys.modules["services.execution.sandbox.guest.program"]
K = sys.modules["services.execution.languages.python.guest.kernel"]
A = sys.modules["services.execution.sandbox.guest.awaiting"]
def base():
    frame = sys._getframe()
    while frame.f_code.co_name != "_answer_calls": frame = frame.f_back
    return frame
def calls(): return base().f_locals["calls"]
def fine(*a, **k): return {"value": None, "class": "NoneType"}
def hush():
    S.described = lambda error: None
    S._tell_as_a_script_would = lambda text: None
"""
_LATER = ("session",)  #: in the call itself, to leave with status 0 is to end it

_PYTHON: Sequence[Trap] = [
    Trap("constants: a first size", _FIND + "hush()\nS.FIRST = 15"),
    Trap("constants: raised is returned", _FIND + "hush()\nS.RAISED = 0"),
    Trap("constants: returned is raised", _FIND + "hush()\nS.RAISED, S.RETURNED = S.RETURNED, S.RAISED", ("raises",)),
    Trap("constants: the status of a closed way", _FIND + "S.CLOSED = 0\nos.close(3)", ("raises", "exits")),
    Trap("locals of the base, by a trace", _FIND + "hush()\ndef traced(frame, event, argument):\n"
         "    frame.f_locals.update(outcome=0, error=None)\n    return traced\nbase().f_trace = traced\nsys.settrace(lambda *a: None)"),
    Trap("locals of the base, by a trace of opcodes", _FIND + "hush()\ndef traced(frame, event, argument):\n"
         "    frame.f_locals.update(outcome=0, error=None)\n    return traced\nframe = base(); frame.f_trace = traced; frame.f_trace_opcodes = True\nsys.settrace(lambda *a: None)"),
    Trap("locals of the base, by a profile", _FIND + "hush()\ndef seen(frame, event, argument):\n"
         "    if frame.f_code.co_name == '_answer_calls': frame.f_locals.update(outcome=0, error=None, failure=ArithmeticError)\nsys.setprofile(seen)"),
    Trap("exceptions of the base, by a profile", _FIND + "hush()\ndef seen(frame, event, argument):\n"
         "    if frame.f_code.co_name == '_answer_calls': frame.f_locals.update(leaving=BaseException)\nsys.setprofile(seen)\n"
         "class E(Exception): code = 0\nraise E", ("never",)),
    Trap("the step of the kernel", _FIND + "C = type(calls())\ndef perform(self, _nothing): return {'value': None, 'class': 'NoneType'}\nC.perform.__code__ = perform.__code__"),
    Trap("the step of the kernel's class", _FIND + "type(calls()).perform = fine"),
    Trap("the kernel's execute", _FIND + "K.PythonKernel.execute = fine"),
    Trap("an execute of the kernel's own", _FIND + "calls()._kernel.execute = fine", ("raises", "awaits")),
    Trap("another kernel", _FIND + "class Fake:\n    def __getattr__(self, name): return fine\ncalls()._kernel = Fake()"),
    Trap("the kernel's run", _FIND + "K.run = P.run = lambda program, space: 42"),
    Trap("the code of the kernel's run", _FIND + "def run(program, space): return 42\nP.run.__code__ = run.__code__"),
    Trap("the kernel's compiler", _FIND + "K.compiled = lambda code, name: P.Program(None, compile('42', name, 'eval'))"),
    Trap("the code of the kernel's compiler", _FIND + "def compiled(code, name): return Program(None, compile('42', name, 'eval'))\nP.compiled.__code__ = compiled.__code__"),
    *(
        Trap(f"the kernel's built-in {name}", _FIND + f"was = S.__builtins__['{name}']\nS.__builtins__['{name}'] = {value}")
        for name, value in (
            ("eval", "lambda *a: 42"),
            ("compile", "lambda code, name, mode, *a, **k: was('42' if isinstance(code, str) else code, name, mode, *a, **k)"),
            ("getattr", "lambda value, name, *rest: fine if name in ('execute', 'evaluate') else was(value, name, *rest)"),
            ("isinstance", "lambda value, kind: False if kind is SystemExit else was(value, kind)"),
        )
    ),
    Trap("a flag of coroutines", _FIND + "import inspect\ninspect.CO_COROUTINE = -1\nA.finished = lambda work: 42", ("raises", "awaits")),
    Trap("what awaits", _FIND + "A.finished = lambda work: 42", ("awaits",)),
    Trap("the task of what awaits", _FIND + "class T:\n    def __init__(self, work, loop): work.close()\n    def result(self): pass\n    def done(self): return True\nA.Task = T", ("awaits",)),
    Trap("what notes that it returned", _FIND + "async def noted(work, returned): returned.append(42); work.close()\nA._noted = noted", ("awaits",)),
    Trap("trees of the compiler", _FIND + "import ast\nast.Expr = object\nast.Expression = lambda value: ast.parse('42', mode='eval')", ("raises",)),
    Trap("parts of a tree", _FIND + "import ast\nast.Raise.value = property(lambda self: ast.Constant(42, lineno=1, col_offset=0))\nast.Expr = ast.stmt", ("raises",)),
    Trap("locals of the kernel's functions, by a trace", _FIND + "def traced(frame, event, argument):\n"
         "    if frame.f_code.co_filename.endswith(('kernel.py', 'program.py', 'service.py')) and 'code' in frame.f_locals:\n"
         "        frame.f_locals['code'] = '42'\n    return traced\nsys.settrace(traced)"),
    Trap("arguments of the kernel's functions, by a trace", _FIND + "def traced(frame, event, argument):\n"
         "    if 'request' in frame.f_locals and isinstance(frame.f_locals['request'], dict) and 'code' in frame.f_locals['request']:\n"
         "        frame.f_locals['request'] = {**frame.f_locals['request'], 'code': '42'}\n    return traced\nsys.settrace(traced)"),
    Trap("the request of the kernel", _FIND + "class D(dict):\n    def __getitem__(self, key): return '42' if key == 'code' else dict.__getitem__(self, key)\n"
         "was = S._with_passed_files\nS._with_passed_files = lambda request, passing: D(was(request, passing))"),
    Trap("the reader of requests", _FIND + "was = S.decoded\nS.decoded = lambda body: {**was(body), 'code': '42'}"),
    Trap("the scanner of requests", _FIND + "import json.decoder\nwas = json.decoder.JSONDecoder.decode\njson.decoder.JSONDecoder.decode = lambda self, text, *a: {**was(self, text), 'code': '42'}"),
    Trap("the scanner of the kernel", _FIND + "W = sys.modules['services.execution.sandbox.protocol.wire']\nwas = W._scanned\n"
         "W._scanned = lambda text, at: ({**was(text, at)[0], 'code': '42'}, len(text))"),
    Trap("lines of the code that answer", _FIND + "import linecache\nclass Lines(dict):\n    def __setitem__(self, *a): raise SystemExit(0)\nlinecache.cache = Lines()", ("raises", "awaits")),
    Trap("an audit hook that leaves", _FIND + "quiet = []\ndef heard(event, arguments):\n    if not quiet and event == 'compile' and S is not None and base().f_locals['count'] >= 1: quiet.append(1); raise SystemExit(0)\nsys.addaudithook(heard)", ("raises", "awaits")),
    Trap("an audit hook of what runs", _FIND + "def heard(event, arguments):\n    if event == 'exec' and base().f_locals['count'] >= 1: raise SystemExit\nsys.addaudithook(heard)", ("raises", "awaits")),
    Trap("an alarm that leaves", _FIND + "signal.signal(signal.SIGALRM, lambda *a: sys.exit(0))\nsignal.setitimer(signal.ITIMER_REAL, .03, .03)", ("raises",), _LATER),
    Trap("an interrupt that leaves", _FIND + "import _thread\nsignal.signal(signal.SIGINT, lambda *a: sys.exit(0))\n"
         "def later():\n    for _ in range(40): time.sleep(.01); _thread.interrupt_main()\nthreading.Thread(target=later, daemon=True).start()", ("raises",), _LATER),
    Trap("an exit that another thread sends", _FIND + "import ctypes\nmain = threading.main_thread().ident\ndef later():\n    for _ in range(40):\n        time.sleep(.01)\n"
         "        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(SystemExit))\nthreading.Thread(target=later, daemon=True).start()", ("raises",), _LATER),
    Trap("a trace that leaves", _FIND + "def traced(frame, event, argument):\n    if base().f_locals['count'] >= 1 and event == 'exception': raise SystemExit(0)\n    return traced\nsys.settrace(traced)"),
    Trap("a profile that leaves", _FIND + "def seen(frame, event, argument):\n    if base().f_locals['count'] >= 1: sys.setprofile(None); raise SystemExit(0)\nsys.setprofile(seen)", ("raises",)),
    Trap("a collection of garbage that leaves", _FIND + "class Last:\n    def __del__(self): raise SystemExit(0)\na = Last(); a.a = a; del a"),
    Trap("an import that leaves", _FIND + "class F:\n    def find_spec(self, *a): raise SystemExit(0)\nsys.meta_path.insert(0, F()); sys.modules.pop('time', None); sys.modules.pop('asyncio', None)", ("awaits",), _LATER),
    Trap("a built-in of its own that leaves", "import builtins\ndef gone(*a): raise SystemExit(0)\nbuiltins.__import__ = gone", ("raises",), _LATER),
    Trap("an output that leaves", _FIND + "class Out:\n    def write(self, text): return len(text)\n    def flush(self): raise SystemExit(0)\nsys.stdout = sys.stderr = Out()", ("raises", "awaits")),
    Trap("an output that fails", _FIND + "class Out:\n    def write(self, text): raise MemoryError\n    def flush(self): raise KeyboardInterrupt\nsys.stdout = sys.stderr = Out()", ("raises",)),
    Trap("what frames are made with", _FIND + "W = sys.modules['services.execution.sandbox.protocol.wire']\nW._encoded = lambda message: '{\"t\": \"result\", \"error\": null, \"nonce\": \"%s\"}' % message.get('nonce')"),
    Trap("what adds up frames", _FIND + "S.checksum = lambda body: 0\nS.frame = lambda message: b''"),
    Trap("an error of errors", _FIND + "hush()\nclass E(Exception):\n    def __init_subclass__(cls): raise SystemExit(0)\n    def __getattribute__(self, name): raise SystemExit(0)\nraise E", ("never",)),
    Trap("an exit within a group", "raise ExceptionGroup('real', [ValueError(1)]) from SystemExit(0)", ("never",)),
    Trap("an exit while an error is shown", "class E(Exception):\n    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\nraise E", ("never",)),
    Trap("an exit of a context", "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): raise SystemExit(3)\nwith C(): raise ValueError('real')", ("never",)),
    Trap("a generator that is thrown into", "def g():\n    try: yield\n    except ValueError: raise SystemExit(5)\nx = g(); next(x); x.throw(ValueError('real'))", ("never",)),
    Trap("a fork whose child takes the place", "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0); raise ValueError('real')\nelse: print('FORGED')", ("never",)),
    Trap("a link in place of a result", "import os, glob\nfor name in ('result.arrow', 'picture.png', 'display-1.html', 'value.table'):\n    try: os.symlink('/etc/passwd', '/out/' + name)\n    except OSError: pass", ("raises", "returns")),
    Trap("a fifo in place of a result", "import os\nfor name in ('result.arrow', 'display-1.html', 'display-1.png'): os.mkfifo('/out/' + name)", ("raises", "returns")),
    Trap("a folder in place of a result", "import os\nfor name in ('result.arrow', 'display-1.html'): os.makedirs('/out/' + name)", ("raises",)),
    Trap("files for everything", "import os\nkept = [os.open('/dev/null', 0) for _ in range(240)]", ("raises",)),
    Trap("a limit of open files", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))", ("raises", "exits")),
    Trap("a limit of processor time", "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", ("never",)),
    Trap("a small stack of threads", "import threading\nthreading.stack_size(32768)\nthreading.Thread(target=lambda: None).start()", ("raises",)),
    Trap("pandas that cannot be shown", "import pandas\npandas.DataFrame.to_html = pandas.DataFrame.__repr__ = lambda *a, **k: (_ for _ in ()).throw(SystemExit(0))", ("raises",)),
    Trap("arrow that cannot write", "import pyarrow, pyarrow.ipc\ndef gone(*a, **k): raise SystemExit(0)\npyarrow.table = pyarrow.ipc.new_file = gone", ("raises",)),
]  # fmt: skip

_JS = """
var fs = require('fs'), vm = require('vm');
"""
_JAVASCRIPT: Sequence[Trap] = [
    Trap("requests of its own", _JS + """
require('child_process').execSync('mkfifo /work/way');
var real = fs.openSync('/proc/self/fd/3', 'r'); fs.closeSync(3); var own = fs.openSync('/work/way', 'r+');
var exact = (n, done, got = Buffer.alloc(0)) => got.length === n ? done(got) : fs.read(real, Buffer.alloc(n - got.length), 0, n - got.length, null, (e, c, b) => e || !c ? 0 : exact(n, done, Buffer.concat([got, b.subarray(0, c)])));
var pass = () => exact(4, (head) => exact(head.readUInt32BE(), (body) => { const r = JSON.parse(body); r.code = '42';
  const b = Buffer.from(JSON.stringify(r)); const h = Buffer.alloc(4); h.writeUInt32BE(b.length); fs.writeSync(own, Buffer.concat([h, b])); pass() }));
pass(); 0""", ("raises", "exits"), _LATER),
    Trap("a request before its time", _JS + """
require('child_process').execSync('mkfifo /work/way');
fs.closeSync(3); var own = fs.openSync('/work/way', 'r+');
setTimeout(() => { const b = Buffer.from('{"op":"info","nonce":"0","once":false}'); const h = Buffer.alloc(4); h.writeUInt32BE(b.length); fs.writeSync(own, Buffer.concat([h, b])) }, 20).unref(); 0""", ("raises",)),
    Trap("code that closes its wrapper", "0 }); (async () => { await 1; throw new Error('real')", ("never",)),
    Trap("code that opens another function", "await 1 })(); (async () => { return [42]", ("never",)),
    Trap("an expression that closes its list", "await 1; 1)]; [(42", ("never",)),
    Trap("a comment that hides the rest", "await null; throw new Error('real') //", ("never",)),
    Trap("the name of a function in its stack", "throw Object.assign(new Error('real'), { stack: '' })", ("never",)),
    Trap("an error that changes", "let n = 0; throw { get message() { return n++ ? 'FORGED' : 'a' }, get stack() { return n++ }, get name() { process.exitCode = 0; return 'x' } }", ("never",)),
    Trap("a status of its own", "process.exitCode = 0; Object.defineProperty(process, 'exitCode', { get: () => 0, set() {} }); throw new Error('real')", ("never",)),
    Trap("an exit at a getter", "Object.defineProperty(globalThis, 'later', { get() { process.exit(0) } }); throw new Error('real')", ("never",)),
    Trap("a class of errors that has instances", "Object.defineProperty(Error, Symbol.hasInstance, { value: () => { process.reallyExit(0) } }); 0", ("raises",)),
    Trap("a promise whose constructor leaves", "const p = Promise.reject(new Error('real')); Object.defineProperty(p, 'constructor', { get() { process.reallyExit(0) } }); await p", ("never",)),
    Trap("a promise that is frozen", "const p = Promise.reject(new Error('real')); Object.defineProperty(p, 'constructor', { value: class { static get [Symbol.species]() { return function (f) { f(() => {}, () => {}) } } } }); Object.freeze(p); await p", ("never",)),
    Trap("a promise of a subclass", "class P extends Promise { then(f) { f(42) } }; await P.reject(new Error('real')).finally(() => {}); throw new Error('real')", ("never",)),
    Trap("a value that is a frozen promise", "var p = Promise.reject(new Error('real')); p.constructor = undefined; Object.freeze(p); p", ("never",)),
    Trap("a proxy of a promise", "new Proxy(Promise.reject(new Error('real')), {})", ("never",)),
    Trap("a proxy that answers all", "new Proxy(function () {}, { get: (t, n) => n === 'then' ? (done) => done(42) : t[n], apply: () => 42 })"),
    Trap("a then that calls twice", "({ then(done, fail) { done(42); fail(new Error('real')); throw new Error('real') } })"),
    Trap("a then that is slow", "({ then(done, fail) { setTimeout(() => fail(new Error('real')), 10) } })", ("never",)),
    Trap("asynchronous iterators", "for await (const x of { [Symbol.asyncIterator]() { return { next() { return Promise.reject(new Error('real')) }, return() { process.reallyExit(0) } } } });", ("never",)),
    Trap("an iterator that is closed", "for (const x of { [Symbol.iterator]() { return { next() { return { value: 1 } }, return() { throw new Error('real') } } } }) break", ("never",)),
    Trap("a setter in the chain", "Object.defineProperty(Object.prototype, 'failed', { set() {}, get: () => false }); Object.defineProperty(Object.prototype, 'over', { get: () => true, set() {} }); 0"),
    Trap("an error in the chain", "Object.defineProperty(Object.prototype, 'error', { get: () => null, set() {} }); Object.defineProperty(Object.prototype, 'once', { get: () => false, set() {} }); 0"),
    Trap("names of requests in the chain", "Object.defineProperty(Object.prototype, 'code', { get: () => '42', set() {} }); Object.defineProperty(Object.prototype, 'take', { get: () => 'view', set() {} }); 0"),
    Trap("options of scripts in the chain", "for (const k of ['filename', 'timeout', 'displayErrors', 'breakOnSigint', 'cachedData', 'produceCachedData', 'importModuleDynamically', 'lineOffset']) Object.defineProperty(Object.prototype, k, { get: () => undefined, set() {}, configurable: true }); 0", ("raises",)),
    Trap("matching texts", "RegExp.prototype.test = RegExp.prototype.exec = () => null; RegExp.prototype[Symbol.replace] = RegExp.prototype[Symbol.match] = () => '42'; String.prototype.replace = String.prototype.matchAll = () => '42'; 0"),
    Trap("cutting texts", "String.prototype.trimEnd = String.prototype.slice = () => '42'; String.prototype.lastIndexOf = () => -1; 0"),
    Trap("other parts of a text", "String.prototype.slice = function (from, to) { return to === undefined ? '42' : '' }; 0"),
    Trap("an iterator of bodies", "const was = Array.prototype[Symbol.iterator]; Array.prototype[Symbol.iterator] = function () { return this.length === 2 && /await/.test(this[1]) ? was.call([' return [42]']) : was.call(this) }; 0", ("awaits",)),
    Trap("files of modules", _JS + "var w = fs.writeFileSync; fs.writeFileSync = (file, text) => w(file, /mjs$/.test(file) ? '42' : text); 0", ("imports", "raises")),
    Trap("parts of a text", "String.prototype.split = () => []; Array.prototype.filter = () => []; Array.prototype.slice = () => []; 0"),
    Trap("sets and maps", "Set.prototype.has = Map.prototype.get = WeakMap.prototype.get = Set.prototype.add = () => false; 0"),
    Trap("names of objects", "Object.hasOwn = () => false; Object.getOwnPropertyNames = Object.keys = () => []; 0", ("raises", "awaits", "imports", "returns")),
    Trap("names of objects, always", "Object.hasOwn = () => true; 0"),
    Trap("numbers", "globalThis.Number = () => 0; globalThis.String = () => ''; globalThis.Error = globalThis.Array = class {}; 0", ("raises",)),
    Trap("symbols", "Symbol.for = () => Symbol('x'); globalThis.Symbol = () => {}; 0"),
    Trap("counting listeners", "process.listenerCount = () => 5; process.removeAllListeners = process.on = () => process; 0"),
    Trap("a handler of interrupts", "process.on('SIGINT', () => process.reallyExit(0)); process.kill(process.pid, 'SIGINT'); 0", ("raises",)),
    Trap("a timer that leaves", "setTimeout(() => process.reallyExit(0), 20); 0", ("raises",)),
    Trap("a timer that exits", "setTimeout(() => process.exit(0), 1); await new Promise((done) => setTimeout(done, 50)); throw new Error('real')", ("never",), _LATER),
    Trap("microtasks of the end", "Promise.resolve().then(() => { process.exitCode = 0 }); queueMicrotask(() => { process.exitCode = 0 }); throw new Error('real')", ("never",)),
    Trap("ticks of the end", "process.nextTick(() => process.reallyExit(0)); throw new Error('real')", ("never",)),
    Trap("an uncaught handler first", "process.prependListener('uncaughtException', () => process.reallyExit(0)); setTimeout(() => { throw new Error('real') }, 1); await new Promise((done) => setTimeout(done, 60))", ("never",)),
    Trap("a monitor of what is uncaught", "process.on('uncaughtExceptionMonitor', () => process.exit(0)); setTimeout(() => { throw new Error('real') }, 1); await new Promise((done) => setTimeout(done, 60))", ("never",)),
    Trap("modes of rejections", "process.on('warning', () => process.exit(0)); process.on('multipleResolves', () => {}); Promise.reject(new Error('real')); await new Promise((done) => setTimeout(done, 60))", ("never",)),
    Trap("another context", "require('vm').runInNewContext('throw new Error(\"real\")')", ("never",)),
    Trap("a script's own timeout", "require('vm').runInThisContext('for (;;);', { timeout: 20 })", ("never",)),
    Trap("a wasm trap", "new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,4,1,96,0,0,3,2,1,0,8,1,0,10,5,1,3,0,0,11])))", ("never",)),
    Trap("a stack that overflows", "(function f() { try { f() } finally { f() } })()", ("never",)),
    Trap("a module that leaves", "import process from 'node:process'; process.exitCode = 3", ("never",)),
    Trap("links in place of results", _JS + "for (const name of ['result.table', 'display-1', 'value.table']) try { fs.symlinkSync('/etc/passwd', '/out/' + name) } catch {} 0", ("raises", "returns")),
    Trap("a fifo in place of results", _JS + "require('child_process').execSync('mkfifo /out/result.table /out/display-1'); 0", ("raises", "returns")),
    Trap("internals", "process.binding('contextify').stopSigintWatchdog(); process.binding('contextify').startSigintWatchdog = () => {}; 0"),
    Trap("internals of files", "const b = process.binding('fs'); for (const k of ['writeString', 'writeBuffer', 'read']) try { b[k] = () => 0 } catch {} 0", ("never",)),
    Trap("a diary of the process", "process.report?.writeReport?.('/work/r.json'); process.setSourceMapsEnabled?.(true); Error.captureStackTrace = () => process.reallyExit(0); 0", ("raises",)),
]  # fmt: skip

_R_FIND = """
kernel <- NULL
for (frame in sys.frames()) { e <- frame; while (!identical(e, emptyenv()) && is.null(kernel)) {
  if (exists("nonce", envir = e, inherits = FALSE) && !identical(e, globalenv())) kernel <- e; e <- parent.env(e) } }
inner <- function(name) Filter(function(f) exists(name, envir = f, inherits = FALSE), sys.frames())
"""
_R: Sequence[Trap] = [
    Trap("constants of the kernel", _R_FIND + "assign('raised', 0L, envir = kernel); assign('described', function(...) NULL, envir = kernel)", ("raises", "exits")),
    Trap("what describes errors", _R_FIND + "assign('described', function(...) NULL, envir = kernel); assign('undescribed', function(...) NULL, envir = kernel)", ("raises",)),
    Trap("what judges", _R_FIND + "assign('judged', function(request) list(outcome = 0L, fields = list()), envir = kernel)", ("raises", "exits")),
    Trap("what answers", _R_FIND + "assign('answer', function(request) 0L, envir = kernel)", ("raises", "exits")),
    Trap("operations", _R_FIND + "kernel$operations$execute <- function(request) list()", ("raises",)),
    *(
        Trap(f"the operator {name}", _R_FIND + f"assign('{name}', {value}, envir = kernel)", ("never",))
        for name, value in (
            ("+", "function(a, b) if (is.numeric(a) && is.numeric(b)) base::`+`(0L, 18L) else base::`+`(a, b)"),
            ("*", "function(a, b) 0L"),
            ("%%", "function(a, b) 0L"),
            ("$", "function(a, b) if (identical(substitute(b), quote(outcome))) 0L else eval(call('[[', substitute(a), as.character(substitute(b))), parent.frame())"),
            ("is.null", "function(x) TRUE"),
            ("{", "function(...) 0L"),
            ("if", "function(...) 0L"),
            ("(", "function(...) 0L"),
            ("list", "function(...) base::list(outcome = 0L)"),
            ("c", "function(...) base::list(t = 'result')"),
            ("tryCatch", "function(...) base::list(outcome = 0L)"),
            ("send", "function(...) 0"),
        )
    ),
    Trap("the end of the call, by an error's text", _R_FIND + "conditionMessage.odd <- function(c) { for (f in inner('ended')) assign('ended', list(outcome = 0L, fields = list()), envir = f); stop('again') }\n"
         "assign('undescribed', function(...) NULL, envir = kernel)\n"
         "stop(structure(class = c('odd', 'error', 'condition'), list(message = 'x', call = NULL)))", ("never",)),
    Trap("the end of the call, by a plot", _R_FIND + "plot(1); setHook('before.plot.new', function(...) NULL)\n"
         "assign('show_plots', function() for (f in inner('ended')) { assign('ended', list(outcome = 0L), envir = f); assign('reply', list(t = 'result'), envir = f) }, envir = kernel)", ("raises",)),
    Trap("the end of the call, by an active binding", _R_FIND + "makeActiveBinding('shown', function(v) { for (f in inner('reply')) assign('ended', list(outcome = 0L), envir = f); 0L }, kernel)", ("raises",)),
    Trap("the reply, by an active binding of the nonce", _R_FIND + "own <- kernel$nonce; makeActiveBinding('nonce', function(v) { if (!missing(v)) own <<- v; for (f in inner('ended')) assign('ended', list(outcome = 0L), envir = f); own }, kernel)", ("raises",)),
    Trap("a finalizer that changes frames", _R_FIND + "reg.finalizer(new.env(), function(x) for (f in inner('ended')) assign('ended', list(outcome = 0L, fields = list()), envir = f)); gctorture(TRUE); gctorture(FALSE)", ("raises",)),
    Trap("the handler's frame", _R_FIND + "for (f in inner('failed')) assign('failed', NULL, envir = f); for (f in inner('calls')) { lockEnvironment(f, TRUE) }", ("raises",)),
    Trap("a restart of the kernel", "invokeRestart('assay_quit', 0L)", ("never",), _LATER),
    Trap("a restart of the kernel, by a warning", "withCallingHandlers({ warning('a'); stop('real') }, warning = function(w) stop('real'))", ("never",)),
    Trap("an error within an error", "tryCatch(stop('a'), error = function(e) stop('real'))", ("never",)),
    Trap("an error within a finalizer", "local({ e <- new.env(); reg.finalizer(e, function(x) stop('a'), onexit = TRUE) }); invisible(gc()); stop('real')", ("never",)),
    Trap("an error option that goes on", "options(error = expression(NULL), warn = -1)", ("raises",)),
    Trap("an error option that dumps", "options(error = quote(dump.frames('last', TRUE)))", ("raises",)),
    Trap("a handler of a session", "globalCallingHandlers(error = function(e) invokeRestart('assay_quit', 0L))", ("raises",)),
    Trap("an S4 method for a call", "setClass('E', contains = 'numeric'); setMethod('show', 'E', function(object) stop('real')); new('E', 1)", ("never",)),
    Trap("a print that leaves", "print.odd <- function(x, ...) base::quit(status = 0); structure(1, class = 'odd')", ("never",)),
    Trap("a class whose length leaves", "length.odd <- dim.odd <- names.odd <- function(x) base::quit(status = 0); structure(list(1), class = 'odd')", ("never",)),
    Trap("a function of base unlocked", "unlockBinding('eval', baseenv()); assign('eval', function(...) 42, envir = baseenv())", ("raises",)),
    Trap("parse of base unlocked", "unlockBinding('parse', baseenv()); own <- base::parse; assign('parse', function(text, ...) own(text = '42'), envir = baseenv())", ("raises",)),
    Trap("functions of the kernel's copies", _R_FIND + "for (name in c('eval', 'parse', 'withVisible')) assign(name, function(...) list(value = 42, visible = TRUE), envir = parent.env(kernel))", ("raises",)),
    Trap("another reader", _R_FIND + "assign('next_request', function(head) list(op = 'info', nonce = kernel$nonce, once = FALSE), envir = kernel)", ("raises",)),
    Trap("a request before its time", "to <- file('/proc/self/fd/3', open = 'wb', raw = TRUE); body <- charToRaw('list(op = \"info\", nonce = \"0\", once = FALSE)'); writeBin(length(body), to, size = 4L, endian = 'big'); writeBin(body, to); flush(to)", ("raises",)),
    Trap("the compiler", "suppressWarnings(compiler::enableJIT(0)); compiler::setCompilerOptions(optimize = 0)", ("raises", "returns")),
    Trap("a deep recursion", "f <- function(n) tryCatch(f(n + 1), error = function(e) stop('real')); f(0)", ("never",)),
    Trap("links in place of results", "for (name in c('result.table', 'plot-001.png', 'display-plot-1.png', 'value.table')) file.symlink('/etc/passwd', file.path('/out', name))", ("raises", "returns")),
    Trap("an alarm of R's own", "setSessionTimeLimit(elapsed = .2)", ("raises",)),
    Trap("connections that fail", "textConnection('FORGED') -> t; close(t); sink(file('/dev/full', 'w')); cat('x')", ("raises",)),
]  # fmt: skip

_SQL: Sequence[Trap] = [
    *(
        Trap(f"a macro in place of {name}", f"CREATE OR REPLACE MACRO {name}({arguments}) AS 'FORGED';", ("raises", "returns"))
        for name, arguments in (("count", "x"), ("getvariable", "x"), ("typeof", "x"), ("setseed", "x"), ("hash", "x"), ("concat", "x"))
    ),
    *(
        Trap(f"a table macro in place of {name}", f"CREATE OR REPLACE MACRO {name}() AS TABLE SELECT 'FORGED' AS table_name, 'FORGED' AS name, 0 AS estimated_size;", ("raises", "returns"))
        for name in ("duckdb_tables", "duckdb_views", "duckdb_variables")
    ),
    *(
        Trap(f"a view in place of {name}", f"CREATE OR REPLACE VIEW {name} AS SELECT 'FORGED' AS a;", ("raises", "returns"))
        for name in ("information_schema_tables", "duckdb_tables", "pragma_database_list", "sqlite_master")
    ),
    Trap("a schema in place of main", "CREATE SCHEMA s; SET schema = 's'; CREATE TABLE result AS SELECT 'FORGED' AS a;", ("raises", "returns")),
    Trap("a settings lock", "SET lock_configuration = false;", ("never",)),
    Trap("a limit of threads", "SET threads = 1000;", ("never",)),
    Trap("rows that fail at last", "SELECT CASE WHEN i < 99999 THEN i ELSE error('real') END AS a FROM range(100000) t(i);", ("never",)),
    Trap("rows that fail behind a limit", "SELECT a FROM (SELECT CASE WHEN i = 3 THEN CAST(error('real') AS BIGINT) ELSE i END AS a FROM range(10) t(i)) LIMIT 5;", ("never",)),
    Trap("a try that hides", "SELECT TRY(error('real')) AS a; SELECT error('real');", ("never",)),
    Trap("an error of a cast", "SELECT CAST('x' AS INT);", ("never",)),
    Trap("an error after a result", "SELECT 42 AS a; SELECT * FROM missing;", ("never",)),
    Trap("an error before the end of a transaction", "BEGIN; CREATE TABLE t (a INT CHECK (a > 0)); INSERT INTO t VALUES (-1); COMMIT; SELECT 42 AS a;", ("never",)),
    Trap("a rollback of an error", "BEGIN; SELECT 42 AS a; ROLLBACK; SELECT error('real');", ("never",)),
    Trap("an error in a prepared statement", "PREPARE p AS SELECT CAST($1 AS INT); EXECUTE p('x');", ("never",)),
    Trap("an error in an explained statement", "EXPLAIN ANALYZE SELECT error('real');", ("never",)),
    Trap("an error in a list", "SELECT list_transform([1, 2], x -> error('real'));", ("never",)),
    Trap("an error of a subquery", "SELECT (SELECT i FROM range(2) t(i)) AS a;", ("never",)),
    Trap("an error of arithmetic", "SELECT 9223372036854775807 + i FROM range(2) t(i);", ("never",)),
    Trap("an import of a folder", "IMPORT DATABASE '/work';", ("never",)),
    Trap("a file that grows", "COPY (SELECT repeat('x', 1000) FROM range(1000000)) TO '/work/big.csv';", ("never",)),
    Trap("half of a statement", "SELECT 42 AS a; SELEC", ("never",)),
    Trap("a comment that is not closed", "SELECT 42 AS a; /* SELECT", ("never",)),
    Trap("a pivot of what fails", "CREATE TABLE t AS SELECT 1 AS k, 2 AS v; PIVOT t ON k USING error('real');", ("never",)),
    Trap("a sequence that ends", "CREATE SEQUENCE s MAXVALUE 1; SELECT nextval('s'), nextval('s');", ("never",)),
]  # fmt: skip

TRAPS_WITHIN: Mapping[str, Sequence[Trap]] = {"python": _PYTHON, "javascript": _JAVASCRIPT, "r": _R, "sql": _SQL}
