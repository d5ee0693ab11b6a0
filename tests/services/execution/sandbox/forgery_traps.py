"""What programs do to make a verdict of their own, and how they end in truth."""

# ruff: noqa: E501 - programs, many of which are one line
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WAYS = ("plain", "transform", "session", "document")


@dataclass(frozen=True)
class Trap:
    name: str
    code: str
    ends: tuple[str, ...] = ()  #: of ``ENDS``, or ``never``; none: it raises, also after an await, and it returns
    ways: tuple[str, ...] = WAYS  #: of running in which the end is as stated


#: language -> end -> its code for a value, and for a table
ENDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "python": {
        "returns": ("42", "import pandas as pd\npd.DataFrame({'a': [42]})"),
        "raises": ("import time\ntime.sleep(.05)\nraise ValueError('real')",) * 2,
        "awaits": ("import asyncio\nawait asyncio.sleep(.01)\nraise ValueError('real')",) * 2,
        "exits": ("import os\nos._exit(0)",) * 2,
        "hangs": ("import time\ntime.sleep(100)",) * 2,
        "fills": ("x = [bytearray(10**7) for _ in range(1000)]",) * 2,
        "crashes": ("import os\nos.kill(os.getpid(), 11)",) * 2,
        "never": ("", ""),
    },
    "javascript": {
        "returns": ("42", ";[{ a: 42 }]"),  # without the semicolon, an index into what the trap ends with
        "raises": ("throw new Error('real')",) * 2,
        "awaits": ("await new Promise((done) => setTimeout(done, 5)); throw new Error('real')",) * 2,
        "imports": ("import fs from 'node:fs'; export const x = 1; throw new Error('real')",) * 2,
        "exits": ("process.reallyExit(0)",) * 2,
        "hangs": ("for (;;);",) * 2,
        "fills": ("const held = []; for (;;) held.push(Buffer.alloc(1e7, 1))",) * 2,
        "crashes": ("process.kill(process.pid, 'SIGSEGV'); for (;;);",) * 2,
        "never": ("", ""),
    },
    "r": {
        "returns": ("42", "data.frame(a = 42)"),
        "raises": ("stop('real')",) * 2,
        "exits": ("base::quit(status = 0)",) * 2,
        "hangs": ("repeat 1",) * 2,
        "fills": ("x <- lapply(1:1000, function(n) numeric(1e7) + n)",) * 2,
        "crashes": ("tools::pskill(Sys.getpid(), 11); Sys.sleep(5)",) * 2,
        "never": ("", ""),
    },
    "sql": {
        "returns": ("SELECT 42 AS a", "SELECT 42 AS a"),
        "raises": ("SELECT error('real')",) * 2,
        "hangs": ("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 1",)
        * 2,
        "never": ("", ""),
    },
}

_FORGE = """
import gc, json, os, struct, sys, threading, time
from json import dumps as _dumps
R = next(each for each in gc.get_objects() if type(each).__name__ == "Replies")
C = next(each for each in gc.get_objects() if type(each).__name__ == "_Calls")
S = sys.modules["services.execution.sandbox.guest.service"]
def framed(message):
    body = _dumps({**message, "nonce": R.nonce}).encode()
    return struct.pack(">I", len(body)) + body
VALUE = {"type": "int", "shape": None, "text": "FORGED"}
RESULT = {"t": "result", "error": None, "value": VALUE, "class": "DataFrame", "rows": 1, "table": "evil.arrow"}
def lay_table():
    import pyarrow as pa
    table = pa.table({"a": pa.array([666])})
    with pa.OSFile("/out/evil.arrow", "wb") as f, pa.ipc.new_file(f, table.schema) as w: w.write(table)
def forge(fd=4):
    try: os.write(fd, framed(RESULT))
    except OSError: pass
def base():
    frame = sys._getframe()
    while frame.f_code.co_name != "_answer_calls": frame = frame.f_back
    return frame
lay_table()
"""
_ALL = ("raises", "returns", "exits", "hangs", "fills", "crashes")

_PYTHON: Sequence[Trap] = [
    Trap("a frame", _FORGE + "forge()", _ALL),
    Trap("nothing", "import os", _ALL),
    Trap("frames on every descriptor", _FORGE + "for n in range(3, 30): forge(n)", ("raises", "exits")),
    Trap("a frame, then no way for the real one", _FORGE + "forge()\nos.dup2(os.open('/dev/null', 1), 4)", _ALL),
    Trap("no way for any frame", "import os\nos.closerange(3, 200)", ("raises", "exits", "hangs")),
    Trap(
        "a way that comes back later",
        _FORGE + "kept = os.dup(4)\nos.dup2(os.open('/dev/null', 1), 4)\n"
        "def later():\n    time.sleep(.15); os.dup2(kept, 4); forge()\nthreading.Thread(target=later, daemon=True).start()",
    ),
    Trap("a frame in place of the kernel's rest", _FORGE + "forge()\nfor size in range(16, 20): os.read(3, size)", ("never",)),
    Trap(
        "a rest by the C library",
        _FORGE + "import ctypes\nforge()\nlibc = ctypes.CDLL(None)\n"
        "for size in range(16, 20): libc.read(3, ctypes.create_string_buffer(64), size)",
        ("never",),
    ),
    Trap(
        "a rest of a trace function in the kernel's own frame",
        _FORGE + "def traced(frame, event, argument):\n    sys.settrace(None)\n    forge()\n"
        "    for size in range(16, 20): os.read(3, size)\nbase().f_trace = traced\nsys.settrace(lambda *a: None)\n1 / 0",
        ("never",),
    ),
    Trap(
        "a jump of the kernel's own frame",
        _FORGE + "def traced(frame, event, argument):\n"
        "    if event == 'line':\n"
        "        for line in sorted({l for _, _, l in frame.f_code.co_lines() if l}):\n"
        "            if line > frame.f_lineno:\n"
        "                try: frame.f_lineno = line\n                except ValueError: continue\n                break\n"
        "    return traced\nbase().f_trace = traced\nsys.settrace(lambda *a: None)",
        ("raises",),
    ),
    Trap("a rest in a finalizer", _FORGE + "class Last:\n    def __del__(self, read=os.read):\n        forge()\n"
         "        for size in range(16, 20): read(3, size)\nclass Failed(Exception): pass\n"
         "e = Failed(); e.last = Last()\nraise e", ("never",)),
    Trap("a thread that waits for the next call", _FORGE + "old = R.nonce\ndef later():\n"
         "    while R.nonce == old: time.sleep(.0002)\n    forge()\nthreading.Thread(target=later, daemon=True).start()",
         ("raises", "hangs", "fills")),
    Trap("a thread that floods", _FORGE + "def later():\n    for _ in range(2000): forge(); time.sleep(.001)\n"
         "threading.Thread(target=later, daemon=True).start()", ("raises", "returns", "exits")),
    Trap("a thread that stops the process", _FORGE + "def later():\n    time.sleep(.02); forge(); os.kill(os.getpid(), 19)\n"
         "threading.Thread(target=later, daemon=True).start()\ntime.sleep(.5)", ("never",)),
    Trap("a thread that ends the process", _FORGE + "def later():\n    time.sleep(.02); forge(); os._exit(0)\n"
         "threading.Thread(target=later, daemon=True).start()\ntime.sleep(.5)", ("never",)),
    Trap("a child", _FORGE + "if os.fork() == 0:\n    forge(); os._exit(0)\nos.wait()", ("raises", "returns", "exits")),
    Trap("a child that speaks later", _FORGE + "if os.fork() == 0:\n"
         "    if os.fork() == 0:\n        time.sleep(.03)\n        forge()\n    os._exit(0)\nos.wait()", ("raises", "hangs")),
    Trap("a child that comes back into the kernel", "import os\nif os.fork() == 0: 'FORGED'\nelse: os.wait()"),
    Trap("a child in place of its parent", "import os\nif os.fork(): os._exit(0)", ("never",)),
    Trap("a child that takes the requests", _FORGE + "if os.fork() == 0:\n    while os.read(3, 4096): forge()\n    os._exit(0)",
         ("raises", "returns")),
    Trap("an alarm", _FORGE + "import signal\nsignal.signal(signal.SIGALRM, lambda *a: forge())\n"
         "signal.setitimer(signal.ITIMER_REAL, .01, .01)\ntime.sleep(.05)", ("raises", "returns", "exits")),
    Trap("last words at exit", _FORGE + "import atexit\natexit.register(forge)\natexit.register(lambda: os._exit(0))",
         ("raises", "exits")),
    Trap("a collection of garbage", _FORGE + "gc.callbacks.append(lambda *a: forge())\ngc.set_threshold(1)"),
    Trap("an excepthook that leaves", "import os, sys\nsys.excepthook = lambda *a: os._exit(0)"),
    Trap("the kernel's words", _FORGE + "S.described = lambda error: None\nS.exit_status = lambda stop: 0", ("raises", "exits")),
    Trap("the kernel's way out", _FORGE + "send = R.send\nR.send = lambda message: send({**message, **RESULT})"),
    Trap("the kernel's class", _FORGE + "def report(self, ended): self._answers.send(RESULT)\nC.__class__.report = report"),
    Trap("the kernel's code", _FORGE + "def report(self, ended): pass\nforge()\nC.__class__.report.__code__ = report.__code__",
         ("raises", "exits")),
    Trap("the kernel's end", _FORGE + "os._exit = lambda status: forge()\nS.leave = lambda status: forge()"),
    Trap("threads at the end", _FORGE + "threading._shutdown = lambda: (forge(), os._exit(0))", ("raises", "exits")),
    *(
        Trap(f"built-in {name}", f"import builtins\nbuiltins.{name} = lambda *a, **k: None")
        for name in ("print", "isinstance", "repr", "str", "type", "getattr", "BaseException", "Exception", "exec", "eval",
                     "compile", "len", "map", "next", "dict", "open")
    ),
    *(
        Trap(f"module function {name}", f"import os, json, struct, traceback, signal\n{name} = lambda *a, **k: b''")
        for name in ("json.dumps", "json.loads", "os.write", "os.read", "os.getpid", "struct.pack", "traceback.format_exception")
    ),
    Trap("an error whose text leaves", "import os\nclass E(Exception):\n    def __str__(self): os._exit(0)\n"
         "def fail(): raise E\nfail()", ("never",)),
    Trap("an error whose class leaves", "import os\nclass M(type):\n    @property\n    def __name__(self): os._exit(0)\n"
         "class E(Exception, metaclass=M): pass\nraise E", ("never",)),
    Trap("an error that is fine", "class E(BaseException):\n    def __bool__(self): return False\n"
         "    def __eq__(self, other): return True\nraise E", ("never",)),
    Trap("an exit whose code is fine", "class E(SystemExit):\n    @property\n    def code(self): return 3\nraise E", ("never",)),
    Trap("an exit whose code equals nought", "class N(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
         "raise SystemExit(N(3))", ("never",)),
    Trap("an interrupt of its own", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise KeyboardInterrupt", ("never",)),
    Trap("a profile function", _FORGE + "sys.setprofile(lambda *a: (sys.setprofile(None), forge()))"),
    Trap("a display that speaks", _FORGE + "display.__self__._announce = lambda message: forge()\ndisplay(1)"),
    Trap("a result too large", "class Large:\n    def __repr__(self): return 'x' * 50_000_000\nLarge()"),
    *(Trap(f"raises {error}", f"raise {error}", ("never",)) for error in (
        "StopIteration('FORGED')", "StopAsyncIteration(42)", "GeneratorExit", "BaseException", "RecursionError", "MemoryError",
        "BaseExceptionGroup('real', [SystemExit(0)])",
    )),
    Trap("the end of an iterator behind the kernel's", "next(iter(()))", ("never",)),
    Trap("another program in its place", "import os\nos.execv('/bin/sh', ['sh', '-c', 'exit 0'])", ("never",)),
    Trap("another program that speaks", _FORGE + "os.set_inheritable(4, True)\nopen('words', 'wb').write(framed(RESULT))\n"
         "os.execv('/bin/sh', ['sh', '-c', 'cat words >&4; exit 0'])", ("never",)),
    Trap("a generator that is closed at the end", _FORGE + "def held():\n    try: yield\n    finally: forge()\nkept = held(); next(kept)"),
    Trap("a task of an event loop", _FORGE + "import asyncio\nasync def later():\n    await asyncio.sleep(.02); forge()\n"
         "kept = asyncio.ensure_future(later())\nawait asyncio.sleep(0)"),
    Trap("a task that fails unheard", "import asyncio\nasync def later(): raise SystemExit(3)\n"
         "kept = asyncio.ensure_future(later())\nawait asyncio.sleep(.05)", ("never",)),
    Trap("a stack that is too small for an error", "import sys\nsys.setrecursionlimit(len(__import__('inspect').stack()) + 30)",
         ("raises",)),
    Trap("no room for files", "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", ("raises", "exits")),
    Trap("no room for memory", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (10**6, 10**6))", ("raises", "exits")),
    Trap("an interrupt that comes later", "import _thread, threading, time\n"
         "threading.Thread(target=lambda: (time.sleep(.02), _thread.interrupt_main()), daemon=True).start()\ntime.sleep(.5)",
         ("never",)),
    Trap("hooks for errors", "import os, sys, threading\nsys.unraisablehook = threading.excepthook = lambda *a: os._exit(0)\n"
         "class Last:\n    def __del__(self): 1 / 0\nkept = Last()", ("raises",)),
    Trap("an event loop of its own", "import asyncio\nclass Loop(asyncio.SelectorEventLoop):\n"
         "    def run_until_complete(self, work): work.cancel(); return 42\nasyncio.set_event_loop(Loop())", ("raises", "awaits")),
    Trap("another future in place of the kernel's", "import asyncio\nasync def fine(): return 42\n"
         "was = asyncio.tasks.ensure_future\n"
         "asyncio.tasks.ensure_future = lambda work, *, loop=None: was(fine(), loop=loop)", ("raises", "awaits")),
    Trap("a loop that hides errors", "import asyncio\nclass Loop(asyncio.SelectorEventLoop):\n"
         "    def run_forever(self):\n        try: super().run_forever()\n        except BaseException: pass\n"
         "    def call_exception_handler(self, context): pass\nasyncio.set_event_loop(Loop())"),
    Trap("a task that begins again", "import asyncio\nasync def fine(): return 42\ndef again(task):\n"
         "    task.__init__(fine(), loop=task.get_loop())\n    asyncio.events._set_running_loop(None)\n"
         "    for _ in range(3): task.get_loop()._run_once()\nasync def lurk():\n    while True:\n"
         "        for task in asyncio.all_tasks() - {kept}: task.add_done_callback(again)\n        await asyncio.sleep(0)\n"
         "kept = asyncio.get_event_loop_policy().get_event_loop().create_task(lurk())", ("raises", "awaits")),
    Trap("a task that ends the kernel's", "import asyncio\nasync def lurk():\n    while True:\n"
         "        for task in asyncio.all_tasks() - {kept}: task.cancel()\n        await asyncio.sleep(0)\n"
         "kept = asyncio.get_event_loop_policy().get_event_loop().create_task(lurk())", ("raises", "awaits")),
    Trap("a weak reference's last word", _FORGE + "import weakref\nclass T: pass\nclass E(Exception): pass\ne = E(); e.t = T()\n"
         "w = weakref.ref(e.t, lambda gone: forge())\nweakref.finalize(e, forge)\nraise e", ("never",)),
    Trap("an error that comes back to life", _FORGE + "kept = []\nclass E(Exception):\n"
         "    def __del__(self): kept.append(self); forge()\nraise E", ("never",)),
    Trap("a descriptor", _FORGE + "class D:\n    def __get__(self, *a): forge(); return 'FORGED'\n"
         "class E(Exception):\n    args = __traceback__ = __cause__ = __notes__ = D()\nraise E", ("never",)),
    Trap("a context of its own", _FORGE + "import contextvars\ncontextvars.copy_context().run(forge)"),
    Trap("an asynchronous generator left open", _FORGE + "async def held():\n    try: yield 1\n    finally: forge()\n"
         "kept = held()\ntry: kept.asend(None).send(None)\nexcept StopIteration: pass"),
    Trap("hooks of asynchronous generators", _FORGE + "sys.set_asyncgen_hooks(lambda g: forge(), lambda g: forge())"),
    Trap("hooks at a fork", _FORGE + "os.register_at_fork(before=forge, after_in_parent=forge, after_in_child=forge)\n"
         "if os.fork() == 0: os._exit(0)\nos.wait()"),
    Trap("a trace of a fault handler", "import faulthandler\nfaulthandler.dump_traceback_later(.01, repeat=True, file=4)",
         ("raises", "returns", "hangs")),
    Trap("a fault behind a handler", "import faulthandler\nfaulthandler.enable(file=4)\nfaulthandler._sigsegv()", ("never",)),
    Trap("signals that write", "import os, signal\nos.set_blocking(4, False)\nsignal.set_wakeup_fd(4, warn_on_full_buffer=False)\n"
         "signal.signal(signal.SIGALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_REAL, .005, .005)", ("raises", "returns")),
    Trap("signals that are held back", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
         ("raises", "returns", "hangs")),
    Trap("a value of a thread that ends", _FORGE + "class Last:\n    def __del__(self): forge()\nlocal = threading.local()\n"
         "def work(): local.value = Last()\nthread = threading.Thread(target=work); thread.start(); thread.join()"),
    Trap("an audit hook", _FORGE + "def heard(event, arguments):\n    if event in ('open', 'object.__getattr__'): raise SystemExit(0)\n"
         "sys.addaudithook(heard)", ("raises",)),
    Trap("a call that is due in the kernel", _FORGE + "import ctypes\nkind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)\n"
         "due = kind(lambda _: (forge(), 0)[1])\nfor _ in range(20): ctypes.pythonapi.Py_AddPendingCall(due, None)"),
    Trap("an error that is sent later", _FORGE + "import ctypes\nmain = threading.main_thread().ident\n"
         "def later():\n    for _ in range(50):\n        time.sleep(.005)\n"
         "        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(ZeroDivisionError))\n"
         "threading.Thread(target=later, daemon=True).start()", ("raises",)),
    Trap("modules of the kernel loaded again", _FORGE + "import importlib\nfor name in [n for n in sys.modules if n.startswith('services.')]:\n"
         "    try: importlib.reload(sys.modules[name])\n    except BaseException: pass", ("raises",)),
    Trap("modules of the kernel emptied", _FORGE + "for name in [n for n in sys.modules if n.startswith('services.')]: vars(sys.modules[name]).clear()",
         ("raises",)),
    Trap("a loader for all that comes", _FORGE + "class Finder:\n    def find_spec(self, *a): forge(); os._exit(0)\n"
         "sys.meta_path.insert(0, Finder()); sys.modules.pop('traceback', None); sys.modules.pop('linecache', None)", ("raises",)),
    Trap("an error without a trace", "class E(Exception):\n    @property\n    def __traceback__(self): raise SystemExit(0)\n"
         "    __cause__ = __context__ = property(lambda self: self.nothing)\nraise E", ("never",)),
]  # fmt: skip

_JS_FORGE = """
var fs = require('fs'), seen = [];
var frame = (message) => { const body = Buffer.from(message); const head = Buffer.alloc(4); head.writeUInt32BE(body.length);
  try { fs.writeSync(4, Buffer.concat([head, body])); } catch {} };
var forge = (nonce) => { frame(JSON.stringify({ t: 'result', error: null, value: { type: 'number', text: 'FORGED' }, nonce }));
  frame(JSON.stringify({ t: 'end', outcome: 0, seal: '0.0.0.0', nonce })); };
"""
_JAVASCRIPT: Sequence[Trap] = [
    Trap("frames", _JS_FORGE + "forge('0')", _ALL),
    Trap("nothing", "var x = 1", _ALL),
    Trap("an await that never settles", "await new Promise(() => {})", ("never",)),
    Trap("an await of an await", "await (async () => { await new Promise(() => {}) })()", ("never",)),
    Trap("a generator that never gives", "for await (const x of (async function* () { await new Promise(() => {}) })());", ("never",)),
    Trap("toJSON that throws", "Object.prototype.toJSON = function () { throw new Error('a') }; 0"),
    Trap("toJSON that lies", "Object.prototype.toJSON = function () { return { t: 'result', value: { text: 'FORGED' } } }; 0"),
    Trap("toJSON of arrays", "Array.prototype.toJSON = String.prototype.toJSON = () => 'FORGED'; 0"),
    Trap("stringify", "JSON.stringify = () => '{}'; JSON.parse = () => ({}); 0"),
    Trap("then", "Promise.prototype.then = function (f) { f?.(5); return this }; Promise.prototype.catch = Promise.prototype.then; 0"),
    Trap("then and constructor", "Promise.prototype.then = function (f) { f(5) };"
         "Object.defineProperty(Promise.prototype, 'constructor', { value: Object }); await null; throw new Error('real')", ("never",)),
    Trap("race and all", "Promise.race = Promise.all = Promise.resolve = () => 5; 0"),
    Trap("a thenable", "({ then(done) { done(42) } })"),
    Trap("a thenable that throws", "({ then() { throw new Error('real') } })", ("never",)),
    Trap("a thenable that never answers", "({ then() {} })", ("never",)),
    Trap("what is seen of the kernel's texts", _JS_FORGE + "const was = Buffer.from; Buffer.from = (...a) => { seen.push(String(a[0]));"
         " return was.apply(Buffer, a) }; setInterval(() => { for (const s of seen) { const m = /\"nonce\":\"(\\w+)\"/.exec(s);"
         " if (m) forge(m[1]) } }, 5).unref(); 0"),
    Trap("what is seen of the kernel's bytes", _JS_FORGE + "const P = Object.getPrototypeOf(Uint8Array.prototype);"
         "const d = Object.getOwnPropertyDescriptor(P, 'byteLength'); Object.defineProperty(P, 'byteLength', { configurable: true,"
         " get() { seen.push(this); return d.get.call(this) } }); 0"),
    Trap("another way for the kernel's words", _JS_FORGE + "var p = fs.openSync('/proc/self/fd/4', 'w'); fs.closeSync(4);"
         "var own = fs.openSync('/work/words', 'w+'); setInterval(() => { const text = fs.readFileSync('/work/words', 'latin1');"
         " const seal = /\"seal\":\"([\\d.]+)\"/.exec(text), nonce = /\"nonce\":\"(\\w+)\"/.exec(text); if (seal && nonce) {"
         " const body = JSON.stringify({ t: 'result', error: null, value: { type: 'n', text: 'FORGED' }, nonce: nonce[1] });"
         " const end = JSON.stringify({ t: 'end', outcome: 0, seal: seal[1], nonce: nonce[1] });"
         " for (const b of [body, end]) { const h = Buffer.alloc(4); h.writeUInt32BE(b.length); fs.writeSync(p, Buffer.concat([h, Buffer.from(b)])) } } }, 5); 0",
         ("never",)),
    Trap("no way for any frame", "require('fs').closeSync(4); 0", ("raises", "exits")),
    Trap("no way for requests", "require('fs').closeSync(3); 0", ("raises", "exits")),
    Trap("process.exit", "process.exit = () => {}; process.reallyExit = () => {}; 0"),
    Trap("leaves", "process.exit(3)", ("never",)),
    Trap("leaves by a handler", "process.on('exit', () => process.exit(3)); 0", ("raises",)),
    Trap("no listeners", "process.removeAllListeners(); 0", ("raises", "exits")),
    Trap("catches what is uncaught", "process.on('uncaughtException', () => {}); setTimeout(() => { throw new Error('real') }, 1);"
         " await new Promise((done) => setTimeout(done, 50))", ("raises",)),
    Trap("throws later", "setTimeout(() => { throw new Error('real') }, 1); await new Promise((done) => setTimeout(done, 50))", ("never",)),
    Trap("rejects unheard", "Promise.reject(new Error('real')); await new Promise((done) => setTimeout(done, 50))", ("never",)),
    Trap("emit and on", "const E = require('events').prototype; E.emit = E.on = E.addListener = () => true; 0"),
    Trap("apply and call", "Reflect.apply = Function.prototype.apply = Function.prototype.call = () => 42; 0"),
    Trap("iterators", "Array.prototype[Symbol.iterator] = function* () { yield 'FORGED' }; 0", ("raises",)),  # Node itself does not work after that
    Trap("setters", "for (const name of ['t', 'error', 'value', 'outcome', 'seal', 'constructor', 'then'])"
         " Object.defineProperty(Object.prototype, name, { __proto__: null, configurable: true, set() {}, get() { return undefined } }); 0"),
    Trap("files", "const f = require('fs'); f.writeSync = f.readSync = f.read = f.writeFileSync = () => 0; 0"),
    Trap("timers", "globalThis.setImmediate = globalThis.setInterval = globalThis.clearInterval = () => ({ unref() {} }); 0"),
    Trap("scripts", "const vm = require('vm'); vm.Script.prototype.runInThisContext = () => 42; vm.Script = class {}; 0"),
    Trap("a worker", _JS_FORGE + "new (require('worker_threads').Worker)(`const fs = require('fs'); const b = Buffer.from("
         "JSON.stringify({ t: 'result', error: null, value: { type: 'n', text: 'FORGED' }, nonce: '0' })); const h = Buffer.alloc(4);"
         " h.writeUInt32BE(b.length); fs.writeSync(4, Buffer.concat([h, b]))`, { eval: true }); await new Promise((d) => setTimeout(d, 150))"),
    Trap("a child", "require('child_process').spawnSync('/bin/sh', ['-c', 'printf FORGED >&3'], { stdio: [0, 1, 2, 4] }); 0"),
    Trap("an error whose text leaves", "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { process.reallyExit(0) } }); throw e",
         ("never",)),
    Trap("an error that cannot be shown", "throw new Proxy(new Error('x'), { get() { throw new Error('real') } })", ("never",)),
    Trap("nothing thrown", "throw undefined", ("never",)),
    Trap("nothing thrown later", "await null; throw undefined", ("never",)),
    Trap("a module that fails", "import fs from 'node:fs'; export const x = 1; await null; throw new Error('real')", ("never",)),
    Trap("a module of its own text that fails", "await import('data:text/javascript,throw new Error(\"real\")')", ("never",)),
    Trap("throws in a microtask", "queueMicrotask(() => { throw new Error('real') }); await new Promise((done) => setTimeout(done, 50))",
         ("never",)),
    Trap("throws in a tick", "process.nextTick(() => { throw new Error('real') }); await new Promise((done) => setTimeout(done, 50))", ("never",)),
    Trap("a way around what is uncaught", "try { process.setUncaughtExceptionCaptureCallback(() => {}) } catch {}"
         " setTimeout(() => { throw new Error('real') }, 1); await new Promise((done) => setTimeout(done, 50))", ("raises",)),
    Trap("a domain", "const d = require('domain').create(); d.on('error', () => {}); d.enter(); 0", ("raises", "exits")),
    Trap("aborts", "process.abort()", ("never",)),
    Trap("kills itself", "process.kill(process.pid, 'SIGKILL'); for (;;);", ("never",)),
    Trap("a stack that leaves", "Error.prepareStackTrace = () => process.reallyExit(0); 0", ("raises",)),
    Trap("a stack that throws", "Error.prepareStackTrace = () => { throw 0 }; Error.stackTraceLimit = 0", ("raises", "returns")),
    Trap("a species of promises", "Object.defineProperty(Promise, Symbol.species, { get() { return class { constructor(f) { f(() => {}, () => {}) }"
         " then(f) { f?.(42); return this } } } }); 0"),
    Trap("a global object with a trap", "Object.setPrototypeOf(globalThis, new Proxy({}, { get() { process.reallyExit(0) },"
         " has() { return false } })); 0", ("raises",)),
    Trap("last words before the end", _JS_FORGE + "process.on('beforeExit', () => forge('0')); process.on('exit', () => forge('0')); 0"),
    Trap("natives", "try { require('v8').setFlagsFromString('--allow-natives-syntax') } catch {}; 0"),
    Trap("a wait for ever", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", ("never",)),
    Trap("a finalizer of a registry", _JS_FORGE + "var held = new FinalizationRegistry(() => forge('0')); held.register({}, 1); try {"
         " require('v8').setFlagsFromString('--expose-gc'); require('vm').runInNewContext('gc')() } catch {}"),
    Trap("a getter on what is thrown", _JS_FORGE + "const e = new Error('real'); for (const key of ['name', 'message', 'stack', 'code'])"
         " Object.defineProperty(e, key, { get() { forge('0'); return 'FORGED' } }); throw e", ("never",)),
    Trap("a primitive of its own", "throw { [Symbol.toPrimitive]() { process.reallyExit(0) }, toString() { process.reallyExit(0) } }", ("never",)),
    Trap("a way of being inspected", "throw { [require('util').inspect.custom]() { process.reallyExit(0) } }", ("never",)),
    Trap("queues of microtasks", _JS_FORGE + "let left = 2000; const again = () => { if (left--) { forge('0'); queueMicrotask(again) } }; queueMicrotask(again)"),
    Trap("hooks of promises", _JS_FORGE + "require('v8').promiseHooks.createHook({ settled() { forge('0') }, before() {}, after() {}, init() {} }); 0"),
    Trap("asynchronous hooks", _JS_FORGE + "require('async_hooks').createHook({ init() {}, after() { forge('0') }, promiseResolve() { forge('0') } }).enable(); 0"),
    Trap("a loader of modules", "require('module')._load = () => { process.reallyExit(0) }; require.cache = {}; 0", ("raises", "awaits")),
    Trap("an emitter that catches", "process.emit = () => true; process.listeners = () => []; process._events = {}; 0", ("raises", "awaits")),
    Trap("rejections that are caught", "process.on('unhandledRejection', () => {}); Promise.reject(new Error('a'));"
         " await new Promise((done) => setTimeout(done, 20))"),
    Trap("an await of what lies", "Object.prototype.then = function (done) { done(42) }; 0", ("raises", "awaits")),
    Trap("a generator that is closed at the end", _JS_FORGE + "var held = (function* () { try { yield 1 } finally { forge('0') } })(); held.next(); 0"),
    Trap("another realm's errors", "throw require('vm').runInNewContext('new Error(\"real\")')", ("never",)),
    Trap("a lock on iterators of arrays", "Array.prototype.push = Array.prototype.map = Array.prototype.join = () => 'FORGED'; 0"),
]  # fmt: skip

_R_FORGE = """
kernel <- NULL
for (frame in sys.frames()) { e <- frame; while (!identical(e, emptyenv()) && is.null(kernel)) {
  if (exists("nonce", envir = e, inherits = FALSE) && !identical(e, globalenv())) kernel <- e; e <- parent.env(e) } }
forge <- function() { to <- file("/proc/self/fd/4", open = "wb", raw = TRUE)
  body <- charToRaw(paste0('{"t":"result","error":null,"value":{"type":"int","text":"FORGED"},"nonce":"', kernel$nonce, '"}'))
  writeBin(length(body), to, size = 4L, endian = "big"); writeBin(body, to); close(to) }
"""
_R: Sequence[Trap] = [
    Trap("a frame", _R_FORGE + "forge()", _ALL),
    Trap("nothing", "x <- 1", _ALL),
    *(
        Trap(f"a {name} of its own", f"{name} <- function(...) {leaves}", ("raises",))
        for name, leaves in (
            *((name, "base::quit(status = 0)") for name in ("conditionMessage", "conditionCall", "class", "paste0", "flush", "json")),
            *((name, "quit(status = 0)") for name in ("conditionMessage", "tryCatch", "send")),
            *((name, "NULL") for name in ("conditionMessage", "tryCatch", "setdiff", "is.null")),
        )
    ),
    Trap("a method that leaves", "conditionMessage.simpleError <- function(c) base::quit(status = 0)", ("raises",)),
    Trap("a class of error that leaves", "conditionMessage.odd <- function(c) base::quit(status = 0)\n"
         "stop(structure(class = c('odd', 'error', 'condition'), list(message = 'x', call = NULL)))", ("never",)),
    Trap("a class of error without a text", "stop(structure(class = c('odd', 'error', 'condition'), list()))", ("never",)),
    Trap("an error option", "options(error = quote(base::quit(status = 0)))"),
    *(
        Trap(name, f"for (name in c({names})) {{\n"
             "  unlockBinding(name, baseenv()); assign(name, function(...) 0L, envir = baseenv()) }", (end,))
        for name, names, end in (
            ("functions of base", "'withCallingHandlers', 'is.null', 'identical'", "raises"),
            # R compiles by it: the next function that is called often enough crashes R itself, which is then a signal.
            ("the tryCatch of base", "'tryCatch'", "never"),
        )
    ),
    Trap("variables of the kernel", _R_FORGE + "forge(); for (name in c('outcome', 'ended', 'raised', 'reply')) assign(name, 0L, envir = kernel)",
         ("raises",)),
    Trap("functions of the kernel", _R_FORGE + "assign('send', function(message) forge(), envir = kernel)"),
    Trap("words of the kernel", _R_FORGE + "assign('described', function(...) NULL, envir = kernel)", ("raises",)),
    Trap("a rest in its place", _R_FORGE + "forge(); own <- fifo('/proc/self/fd/3', 'rb', blocking = TRUE)\n"
         "for (size in 16:19) readBin(own, 'raw', size)", ("never",)),
    Trap("a finalizer", _R_FORGE + "reg.finalizer(new.env(), function(x) forge(), onexit = TRUE); invisible(gc())"),
    Trap("no connections", "closeAllConnections()", ("raises", "returns", "exits")),
    Trap("leaves", "quit(status = 3)", ("never",)),
    Trap("leaves in earnest", "base::quit(status = 0)", ("never",)),
    Trap("goes to the top", "invokeRestart('abort')", ("never",)),
    Trap("a child", _R_FORGE + "parallel:::mcfork -> fork; p <- fork(); if (inherits(p, 'masterProcess')) { forge(); parallel:::mcexit(0L) }\nSys.sleep(.1)"),
    Trap("a shell", "system('printf FORGED >&4')"),
    Trap("a task at the end of a call", _R_FORGE + "invisible(addTaskCallback(function(...) { forge(); TRUE }))"),
    Trap("handlers for everything", "globalCallingHandlers(error = function(e) base::quit(status = 0))", ("raises",)),
    Trap("an interrupt of its own", "stop(structure(class = c('interrupt', 'condition'), list()))", ("never",)),
    Trap("a condition that is no error", "stop(structure(class = 'condition', list(message = 'x', call = NULL)))", ("never",)),
    Trap("leaves by the inside", ".Internal(quit('no', 0L, FALSE))", ("never",)),
    Trap("kills itself", "tools::pskill(Sys.getpid(), 9); Sys.sleep(5)", ("never",)),
    Trap("a limit of R's own", "setTimeLimit(elapsed = .3)", ("raises",)),
    Trap("a small stack of expressions", "options(expressions = 25)", ("raises",)),
    Trap("warnings that are errors", "options(warn = 2)", ("raises", "returns", "exits")),
    Trap("another decimal sign", "options(OutDec = ',', digits = 1)", ("raises", "returns")),
    Trap("output that goes elsewhere", "sink('/dev/null')", ("raises", "returns")),
    Trap("a package taken away", "for (name in c('assay', 'package:stats', 'package:utils', 'package:methods'))"
         " try(detach(name, character.only = TRUE), silent = TRUE)", ("raises", "returns")),
    Trap("the kernel emptied", _R_FORGE + "rm(list = ls(kernel, all.names = TRUE), envir = kernel)", ("raises",)),
    Trap("an exit of every function", "local({ on.exit(base::quit(status = 0)); stop('real') })", ("never",)),
    Trap("an exit of a function that failed", "local({ on.exit(quit(status = 0)); stop('real') })", ("never",)),
    Trap("an exit at last", "tryCatch(stop('real'), finally = quit(status = 0))", ("never",)),
    Trap("a trace", "suppressMessages(trace('stop', quote(base::quit(status = 0)), print = FALSE))", ("raises",)),
    Trap("a stop that lies in wait", ".Last <- function() quit(status = 0); .First <- .Last"),
    Trap("an active binding of the kernel's words", "makeActiveBinding('result', function(v) base::quit(status = 0), globalenv())", ("raises",)),
    Trap("an active binding over conditions", "makeActiveBinding('conditionMessage', function() base::quit(status = 0), globalenv())", ("raises",)),
    Trap("a promise of an error", "delayedAssign('x', stop('real')); x", ("never",)),
    Trap("a promise that leaves", "f <- function(x) { on.exit(base::quit(status = 0)); x }; f(stop('real'))", ("never",)),
    Trap("a reference class's last words", "A <- setRefClass('A', methods = list(finalize = function() base::quit(status = 0)))\n"
         "a <- A$new(); rm(a)", ("raises",)),
    Trap("a method for errors", "setOldClass(c('simpleError', 'error', 'condition'))\n"
         "suppressWarnings(setMethod('show', 'simpleError', function(object) base::quit(status = 0)))\n"
         "as.character.error <- print.error <- toString.error <- format.error <- function(...) base::quit(status = 0)", ("raises",)),
    Trap("a warning that leaves", "options(warn = 1, warning.expression = quote(base::quit(status = 0)))", ("raises",)),
    Trap("an error handler of the session", "options(error = function() base::quit(status = 0), show.error.messages = FALSE)", ("raises",)),
    Trap("a restart of its own", "withRestarts(invokeRestart('mine'), mine = function() stop('real'))", ("never",)),
    Trap("a frame that is restarted", "f <- function() { browser <- NULL; sys.on.exit(); stop('real') }; tryCatch(f(), error = function(e) stop(e))", ("never",)),
    Trap("hooks of packages", "setHook(packageEvent('stats4', 'attach'), function(...) base::quit(status = 0)); 0", ("raises", "returns")),
    Trap("functions of the search path", "attach(list(tryCatch = function(...) NULL, signalCondition = function(...) NULL), name = 'ours', warn.conflicts = FALSE)",
         ("returns",)),
    Trap("a language of its own", "Sys.setLanguage <- function(...) NULL; invisible(Sys.setlocale('LC_ALL', 'C'))", ("raises", "returns")),
]  # fmt: skip

_SQL: Sequence[Trap] = [
    Trap("nothing", "SELECT 1;", ("raises", "returns", "hangs")),
    *(
        Trap(f"a copy into {path}", f"COPY (SELECT 'FORGED') TO '{path}';", ("never",))
        for path in ("/proc/self/fd/4", "/dev/fd/4", "/out/result.arrow", "/dev/stdout")
    ),
    *(
        Trap(f"a look at {path}", f"SELECT * FROM read_text('{path}');", ("never",))
        for path in ("/proc/self/fd/3", "/proc/self/mem", "/proc/self/environ", "/code/main.py")
    ),
    Trap("settings", "SET enable_external_access = true;", ("never",)),
    Trap("a table in place of the result", "CREATE OR REPLACE TABLE result AS SELECT 'FORGED' AS a;", ("raises", "returns")),
    Trap("an open transaction", "BEGIN TRANSACTION;", ("raises", "returns")),
    Trap("a transaction that has failed", "BEGIN; SELECT error('real'); ROLLBACK;", ("never",)),
    Trap("a table under the kernel's name", "CREATE TABLE __given AS SELECT 'FORGED' AS a;", ("raises", "returns")),
    Trap("a prepared error", "PREPARE p AS SELECT error('real'); EXECUTE p;", ("never",)),
    Trap("a view of an error", "CREATE VIEW result AS SELECT error('real') AS a; FROM result;", ("never",)),
    Trap("rows without end", "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a FROM t) SELECT count(*) FROM t;", ("never",)),
    Trap("an end without a beginning", "COMMIT;", ("never",)),
    Trap("a file of the kernel", "ATTACH '/out/result.arrow' AS m;", ("never",)),
    Trap("an export into the kernel's folder", "EXPORT DATABASE '/out/d';", ("never",)),
    Trap("an extension", "INSTALL httpfs; LOAD httpfs;", ("never",)),
    Trap("no memory", "SET memory_limit = '1TB';", ("never",)),
    Trap("views over an error", "CREATE VIEW a AS SELECT error('real') AS x; CREATE VIEW b AS FROM a; CREATE VIEW c AS FROM b; FROM c;", ("never",)),
    Trap("a macro of an error", "CREATE MACRO m() AS error('real'); CREATE MACRO n() AS m(); SELECT n();", ("never",)),
    Trap("a default of an error", "CREATE TABLE t (a INT, b VARCHAR DEFAULT error('real')); INSERT INTO t (a) VALUES (1);", ("never",)),
    Trap("a transaction that another failed", "BEGIN; CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (1);", ("never",)),
    Trap("a view in place of the kernel's table", "CREATE OR REPLACE VIEW __given AS SELECT 'FORGED' AS a; CREATE OR REPLACE TEMP TABLE result AS FROM __given;",
         ("raises", "returns")),
    Trap("a setting of the session", "SET SESSION search_path = 'nowhere';", ("never",)),
    Trap("a type under a name of DuckDB's", "CREATE TYPE varchar AS ENUM ('FORGED');", ("never",)),
    Trap("a prepared answer", "PREPARE result AS SELECT 'FORGED' AS a; DEALLOCATE result;", ("raises", "returns")),
    Trap("a macro in place of a function", "CREATE MACRO upper(x) AS 'FORGED';", ("raises", "returns")),
]  # fmt: skip

TRAPS: Mapping[str, Sequence[Trap]] = {"python": _PYTHON, "javascript": _JAVASCRIPT, "r": _R, "sql": _SQL}
