"""``python -m tests.console.pictures FOLDER [--all]``: runs real jobs and takes pictures of the console's pages.

``assay up --demo`` runs before it, and ``ASSAY_URL`` and ``ASSAY_API_KEY`` name it. With ``--all`` every page is taken,
light, dark and narrow, for a review; else only those that the documentation shows.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2 as httpx
from PIL import Image
from playwright.sync_api import BrowserContext, expect, sync_playwright

from services.host.demo import library
from tests.console import browser as browsers
from tests.console.conftest import settled

_ROOT = Path(__file__).resolve().parents[2]
_DEMO = _ROOT / "services" / "host" / "demo"
_TASK = "One row per month: the mean adjusted close, the number of trading days, and the total volume"
_SHOWN = ("job", "transform", "flow", "search", "document", "detect", "prompts", "models", "evaluation")
#: Shown in the light alone: pictures of the documentation have 1.2 MB together.
_SHOWN_LIGHT = ("overview", "jobs")
#: Exit status of an evaluation some of whose runs fail, as those of the pictures do.
_CASES_FAILED = 8
_SUITE = """\
name: cities
cases:
  - name: total by city
    kind: transform
    input: {task: "Total amount by city", data: [{csv: "city,amount\\nOslo,3\\nOslo,5\\nRome,4\\nBergen,2"}]}
    expect: {table: {csv: "city,amount\\nBergen,2\\nOslo,8\\nRome,4"}}
  - name: product
    kind: execute
    input: {language: python, code: "print(6*7)"}
    expect: {verdict: ok, stdout: "42"}
  - name: a coin
    kind: execute
    input: {language: python, code: "import os; print(os.urandom(1)[0] % 2)"}
    expect: {stdout: "1"}
"""


@dataclass(frozen=True)
class Server:
    url: str
    key: str
    work: Path

    def assay(self, *words: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(_ROOT)}
        ran = subprocess.run(
            [sys.executable, "-m", "assay", *words], cwd=self.work, env=env, check=False, capture_output=True
        )
        if ran.returncode not in (0, _CASES_FAILED):
            ran.check_returncode()

    def get(self, path: str, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.get(f"{self.url}{path}", params=query, headers=headers).json()

    def post(self, path: str, body: object) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        httpx.post(f"{self.url}{path}", json=body, headers=headers).raise_for_status()

    def job(self, kind: str, words: str = "") -> str:
        """The id of the newest of its kind whose title holds the words."""
        return str(self.get("/v1/jobs", kind=kind, limit=1, **({"q": words} if words else {}))["items"][0]["id"])


def main(folder: Path, *, everything: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        server = Server(os.environ["ASSAY_URL"], os.environ["ASSAY_API_KEY"], Path(work))
        _run_jobs(server)
    found = browsers.find()
    with tempfile.TemporaryDirectory() as fonts, sync_playwright() as driver:
        env: dict[str, Any] = {
            **os.environ,
            **found.environment,
            **_fonts(Path(fonts), found.environment.get("FONTCONFIG_FILE")),
        }
        browser = driver.chromium.launch(executable_path=found.path, env=env)
        for scheme, width in _looks(everything=everything):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, base_url=server.url,
                reduced_motion="reduce", locale="en-GB", timezone_id="UTC",
            )  # fmt: skip
            context.add_init_script(f"try {{ sessionStorage.setItem('assay.key', '{server.key}') }} catch {{}}")
            _take(context, server, folder, f"{scheme}-{width}", everything=everything)
        browser.close()


def _looks(*, everything: bool) -> Iterator[tuple[Any, int]]:
    yield "light", 1440
    yield "dark", 1440
    if everything:
        yield "light", 360
        yield "dark", 360


def _matplotlib(*parts: str) -> Path:
    """Some of the data that ships with it."""
    package = find_spec("matplotlib")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent.joinpath("mpl-data", *parts)


def _fonts(folder: Path, others: str | None) -> dict[str, str]:
    """Where there is no font of equal widths, matplotlib's: code looks like code on every machine."""
    include = f'<include ignore_missing="yes">{others or "/etc/fonts/fonts.conf"}</include>'
    alias = "<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>"
    (folder / "fonts.conf").write_text(
        f"<fontconfig>{include}<dir>{_matplotlib('fonts', 'ttf')}</dir>{alias}</fontconfig>"
    )
    return {"FONTCONFIG_FILE": str(folder / "fonts.conf")}


def _run_jobs(server: Server) -> None:
    """Run the jobs of the demonstration, on data that every reader has."""
    prices = _matplotlib("sample_data", "msft.csv")
    for file in (prices, _DEMO / "busiest_days.py", _DEMO / "prices.md", _DEMO / "shop.mmd"):
        shutil.copy(file, server.work)
    library.write(server.work)
    (server.work / "cities.yaml").write_text(_SUITE)
    for repeat in ("3", "5"):
        models = ("--model", "groq/careful", "--model", "groq/careless")
        server.assay("eval", "run", "cities.yaml", *models, "--prompt", "transform@1", "--repeat", repeat, "--yes")
    server.assay("execute", "busiest_days.py", "--file", "msft.csv")
    server.assay("transform", "msft.csv", _TASK)
    server.assay("doc", "run", "prices.md", "--file", "msft.csv")
    server.assay("flow", "edit", "shop.mmd", "Put a review before the payment")
    flow = server.get("/v1/flows")["items"][0]["id"]
    server.post(f"/v1/flows/{flow}/layout", {"direction": "LR"})
    if "python" not in [each["name"] for each in server.get("/v1/collections")["items"]]:
        server.assay("collection", "create", "python", "tables.json")
        server.assay("ingest", "python", "modules", "modules.jsonl")
        server.assay("ingest", "python", "exceptions", "exceptions.jsonl")
    server.assay("search", "python", "Which module reads CSV files?")
    server.assay("search", "python", "Who says that a list has no such position?")
    shutil.copytree(_ROOT / "deploy", server.work / "repository" / "deploy")
    for name in ("pyproject.toml", "docker-compose.yml", "Makefile", "console/package.json"):
        (server.work / "repository" / name).parent.mkdir(exist_ok=True)
        shutil.copy(_ROOT / name, server.work / "repository" / name)
    server.assay("detect", "repository", "--mode", "static")


def _pages(server: Server) -> dict[str, str]:
    transform, execute = server.job("transform", "month"), server.job("execute")
    parts = {f"job-{part}": f"/jobs/{transform}?tab={part}" for part in ("result", "models", "events", "input")}
    call = server.get(f"/v1/jobs/{transform}/llm-calls")["items"][-1]["id"]
    parts["job-words"] = f"/jobs/{transform}?tab=prompt&call={call}"
    evaluation = server.get("/v1/evaluations", suite="cities")["items"][0]["id"]
    plain = ("jobs", "flows", "prompts", "models", "queues", "usage", "keys", "settings")
    return {
        "overview": "/",
        "job": f"/jobs/{transform}?tab=attempts",
        **parts,
        "job-output": f"/jobs/{execute}?tab=output",
        "compare": f"/compare?a={transform}&b={execute}",
        "transform": f"/transform?job={transform}",
        "transform-empty": "/transform",
        "run": f"/run?job={execute}",
        "document": f"/documents?job={server.job('document')}",
        "search": f"/search?job={server.job('search', 'position')}",
        "flow": f"/flows/{server.get('/v1/flows')['items'][0]['id']}",
        "detect": f"/detect?job={server.job('detect')}",
        "prompt": f"/prompts/execution.transform?job={transform}",
        "evaluation": f"/evaluations/{evaluation}?a=0.0&b=0.1",
        "evaluation-one": f"/evaluations/{evaluation}?a=0.1",
        "evaluations": "/evaluations",
        "suite": "/evaluations?suite=cities",
        "job-case": f"/jobs/{execute}?case=1",
        **{name: f"/{name}" for name in plain},
    }


def _take(context: BrowserContext, server: Server, folder: Path, look: str, *, everything: bool) -> None:
    for page, path in _pages(server).items():
        shown = (*_SHOWN, *_SHOWN_LIGHT) if look.startswith("light") else _SHOWN
        if not everything and page not in shown:
            continue
        tab = context.new_page()
        tab.goto(path)
        expect(tab.locator("h1").first).to_be_visible()
        settled(tab)
        expect(tab.locator("[aria-busy=true]")).to_have_count(0)
        picture = Image.open(io.BytesIO(tab.screenshot(full_page=everything)))
        name = f"{page}-{look}" if everything else f"{page}-{look.partition('-')[0]}"
        # Few colors: a third of the size; with fewer than these the green and amber of states turn gray.
        picture.convert("RGB").quantize(128).save(folder / f"{name}.png", optimize=True)
        tab.close()
    context.close()


if __name__ == "__main__":
    [folder] = (each for each in sys.argv[1:] if each != "--all")
    main(Path(folder), everything="--all" in sys.argv)
