"""The attacks that R, JavaScript and SQL can make in words of their own."""

from __future__ import annotations

from shared.contracts.execute import Verdict
from tests.services.execution.sandbox.attacks import MEMORY, OUTPUT, SIGNAL, TIMEOUT, USER_ERROR, Attack

REJECTED = (Verdict.REJECTED,)
_OPENS = "(() => { try { require('fs').CALL; return 'allowed' } catch (error) { return error.code } })()"
_CONNECTS = (
    "const seen = await new Promise((done) => { const socket = require('net').connect(6379, '127.0.0.1');"
    " socket.on('error', (error) => done(error.code)); socket.on('connect', () => done('allowed')) })\nseen"
)
_TRIES = "tryCatch({ suppressWarnings(CALL); 'allowed' }, error = function(problem) 'denied')"
_DENIED = '[1] "denied"'

_JAVASCRIPT = (
    (3, "busy loop", "while (true) {}", TIMEOUT),
    (4, "endless wait", "await new Promise((done) => setTimeout(done, 1e9))", TIMEOUT),
    (6, "growing allocation", "const kept = []; while (true) kept.push(new Array(1e5).fill(1.5))", (MEMORY,)),
    (9, "stdout flood", "for (;;) console.log('x'.repeat(1e5))", (OUTPUT,)),
    (26, "writes to the system", _OPENS.replace("CALL", "writeFileSync('/usr/x', '')"), "'EROFS'"),
    (28, "secrets of the host", _OPENS.replace("CALL", "readFileSync('/etc/shadow')"), "'ENOENT'"),
    (38, "loopback", _CONNECTS, "'EACCES'"),
    (54, "abort", "process.abort()", (SIGNAL,)),
    (56, "forged frames", "require('fs').writeSync(4, Buffer.alloc(64)); throw new Error('failed')", REJECTED),
    (56, "a patched notation", "JSON.stringify = () => '{}'; throw new Error('failed')", (USER_ERROR,)),
)
_R = (
    (3, "busy loop", "while (TRUE) {}", TIMEOUT),
    (6, "growing allocation", "x <- list(); while (TRUE) x[[length(x) + 1]] <- runif(1e6)", (MEMORY,)),
    (9, "stdout flood", "while (TRUE) cat(strrep('x', 1e5))", (OUTPUT,)),
    (28, "secrets of the host", _TRIES.replace("CALL", "readLines('/etc/shadow')"), _DENIED),
    (38, "loopback", _TRIES.replace("CALL", "socketConnection('127.0.0.1', 6379)"), _DENIED),
    (54, "kills itself", "tools::pskill(Sys.getpid(), 9L)", (SIGNAL,)),
    (
        56,
        "forged frames",
        "way <- file('/proc/self/fd/4', 'wb', raw = TRUE); writeBin(raw(64), way); flush(way); stop('failed')",
        REJECTED,
    ),
    (56, "another way to quit", "quit <- function(...) NULL; stop('failed')", (USER_ERROR,)),
)
_SQL = (
    (3, "endless join", "SELECT count(*) FROM range(1000000000) a, range(1000000) b", TIMEOUT),
    (26, "writes to the system", "COPY (SELECT 1) TO '/etc/x'", (USER_ERROR,)),
    (28, "secrets of the host", "SELECT * FROM read_text('/etc/passwd')", (USER_ERROR,)),
    (28, "another database", "ATTACH '/usr/x.db'", (USER_ERROR,)),
    (37, "network", "SELECT * FROM read_csv('http://127.0.0.1/x')", (USER_ERROR,)),
    (41, "settings", "SET lock_configuration = false", (USER_ERROR,)),
    (46, "extensions", "INSTALL httpfs", (USER_ERROR,)),
    (46, "loaded code", "LOAD '/usr/lib/x.duckdb_extension'", (USER_ERROR,)),
)

#: They run behind no prelude. A text in place of verdicts is the value that the attempt must have.
OTHERS = [
    Attack(number, name, code, (Verdict.OK,), wanted, language=language)
    if isinstance(wanted, str)
    else Attack(number, name, code, wanted, language=language)
    for language, row in (("javascript", _JAVASCRIPT), ("r", _R), ("sql", _SQL))
    for number, name, code, wanted in row
]
