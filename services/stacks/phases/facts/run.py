"""How a built package is run: its command, ports, health, variables and the files that it needs."""

from __future__ import annotations

import re

from services.stacks.manifests.model import table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.commands import START_SCRIPTS, jvm_command, rust_command, start_command
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.dockerfile import Deployment
from services.stacks.phases.facts.roles import is_program
from services.stacks.rules.technologies import SERVING, TIERS, Technology, TechnologyRules
from shared.contracts.detect import Copy, HealthEndpoint, Runtime

_SCRIPT_PORT = re.compile(r"(?:--port|-p|--http-port|PORT)[ =](\d{2,5})\b|:(\d{4,5})\b")


def run_facts(
    survey: Survey, package: Package, rules: TechnologyRules, code: CodeFacts, deployed: Deployment
) -> Runtime:
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    command = deployed.command or _in_workspace(survey, package, start_command(package, technology, code))
    ports = _ports(package, rules, technology, code, deployed)
    command = _listening(command, ports)
    serves = technology is not None and (technology.tier in SERVING or technology.tier == TIERS["app"])
    health = deployed.health or code.health or _usual_health(package)
    return Runtime(
        packages=list(deployed.packages),
        env=dict.fromkeys([*deployed.env, *(name for name in code.env if name not in deployed.env)]),
        copy=_copies(survey, package, technology),
        command=command,
        ports=ports,
        health=HealthEndpoint(endpoint=health) if health and (serves or deployed.health or command) else None,
    )


def _ports(
    package: Package, rules: TechnologyRules, technology: Technology | None, code: CodeFacts, deployed: Deployment
) -> list[int]:
    """What deployment files say, else configuration and scripts, else the code, else the framework's usual port."""
    if deployed.ports:
        return deployed.ports
    scripted = [*code.configured, *(port for port in _script_ports(package) if port not in code.configured)]
    if scripted:
        return scripted
    if code.ports:
        return code.ports
    usual = [technology.port] if technology and technology.port else []
    if usual or technology is None or not technology.static:
        return usual
    bundlers = (
        rules.get("framework", finding.id) for finding in package.findings_of("framework") if finding.confidence >= 0.5
    )
    return [bundler.port for bundler in bundlers if bundler and bundler.port and bundler.tier == TIERS["bundler"]][:1]


def _script_ports(package: Package) -> list[int]:
    manifest = package.manifest_of("npm")
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    ports: list[int] = []
    started = next((name for name in START_SCRIPTS if text_of(scripts.get(name))), None)
    for name in (started,) if started else ("preview", "dev"):
        for port in _SCRIPT_PORT.finditer(text_of(scripts.get(name)) or ""):
            number = int(port[1] or port[2])
            if 0 < number < 65536 and number not in ports:
                ports.append(number)
        if ports:
            break
    return ports


def _usual_health(package: Package) -> str | None:
    if ("maven", "org.springframework.boot:spring-boot-starter-actuator") in package.dependencies:
        return "/actuator/health"
    if any(
        ("maven", f"io.quarkus:quarkus-smallrye-health{suffix}") in package.dependencies
        for suffix in ("", "-deployment")
    ):
        return "/q/health"
    if ("framework", "streamlit") in package.findings:
        return "/_stcore/health"
    return None


def _bundled(package: Package, technology: Technology) -> str | None:
    """Where a bundler leaves the pages of a user interface that has no server."""
    if technology.static and any(("framework", id) in package.findings for id in ("vite", "parcel")):
        return "dist"
    return None


def _listening(command: list[str], ports: list[int]) -> list[str]:
    """``flask run`` asks nobody: the port of the code holds only when that is run as a program."""
    told = any(word.startswith(("--port", "-p")) for word in command)
    if command[:2] != ["flask", "run"] or not ports or ports[0] == 5000 or told:
        return command
    return [*command, f"--port={ports[0]}"]


def _in_workspace(survey: Survey, package: Package, command: list[str]) -> list[str]:
    """Cargo builds the members of a workspace into the ``target`` of its root."""
    up = _above_cargo_root(survey, package) if command and command[0].startswith("./target/") else ""
    return [up + command[0].removeprefix("./"), *command[1:]] if up else command


def _above_cargo_root(survey: Survey, package: Package) -> str:
    """``../../`` for a member two folders below the root of its workspace; nothing outside of one."""
    own = package.manifest("Cargo.toml")
    if own is None or "workspace" in own.data:
        return ""
    for depth, level in enumerate(survey.above(package.path)):
        if depth and any(one.kind == "Cargo.toml" and "workspace" in one.data for one in level.manifests):
            return "../" * depth
    return ""


def _copies(survey: Survey, package: Package, technology: Technology | None) -> list[Copy]:
    """What of a build has to reach the image that runs it."""
    language = primary_language(package)
    id = language.id if language else None
    output = (technology.text("output") if technology else None) or (technology and _bundled(package, technology))
    if output:
        return [Copy(**{"from": output, "to": f"/app/{output}"})]
    if id == "rust" and not (technology and technology.static) and (command := rust_command(package)):
        source = _in_workspace(survey, package, command)[0].removeprefix("./")
        return [Copy(**{"from": source, "to": f"/app/{source.rpartition('/')[2]}"})]
    if id == "go" and package.manifest("go.mod") and go_mains(package):
        return [Copy(**{"from": "bin/app", "to": "/app/bin/app"})]
    if id in {"csharp", "fsharp", "vbnet"} and is_program(package):
        return [Copy(**{"from": "out", "to": "/app/out"})]
    if technology and technology.id == "quarkus" and (command := jvm_command(package, technology)):
        return [Copy(**{"from": command[-1].rpartition("/")[0], "to": "/app/quarkus-app"})]
    if id in {"java", "kotlin", "groovy"} and jvm_command(package, technology):
        jar = jvm_command(package, technology)[-1]
        return [Copy(**{"from": jar, "to": "/app/app.jar"})]
    return []
