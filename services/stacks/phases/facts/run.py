"""How a built package is run: its command, ports, health, variables and the files that it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from services.stacks.manifests.model import table, text_of
from services.stacks.packages.package import Package
from services.stacks.packages.ranking import primary_language, primary_of
from services.stacks.packages.survey import Survey
from services.stacks.phases.facts.build import go_mains
from services.stacks.phases.facts.commands import START_SCRIPTS, jvm_command, rust_command, start_command
from services.stacks.phases.facts.configuration import CodeFacts
from services.stacks.phases.facts.deployment import DEFAULT, Deployment, Place
from services.stacks.phases.facts.dockerfile import ports_of
from services.stacks.phases.facts.roles import is_program
from services.stacks.rules.technologies import SERVING, TIERS, Technology, TechnologyRules
from shared.contracts.detect import Copy, FactEvidence, FactOrigin, FactTrail, HealthEndpoint, Runtime, RuntimeTrail

_SCRIPT_PORT = re.compile(r"(?:--port|-p|--http-port|PORT)[ =](\d{2,5})\b|:(\d{4,5})\b")


#: How sure a fact is, by what it rests on.
CONFIDENCE: Mapping[FactOrigin, float] = {
    "dockerfile": 0.97, "procfile": 0.95, "compose": 0.9, "platform": 0.95, "manifest": 0.85, "code": 0.75,
    "default": 0.4,
}  # fmt: skip


def run_facts(
    survey: Survey, package: Package, rules: TechnologyRules, code: CodeFacts, deployed: Deployment
) -> Runtime:
    """Return how the package is run, and where each fact comes from."""
    framework = primary_of(package, "framework")
    technology = rules.get("framework", framework.id) if framework else None
    command, command_at = deployed.command, deployed.command_at
    if not command:
        command, command_at = start_command(package, technology, code)
        command = _in_workspace(survey, package, command)
    ports, ports_at = _ports(
        package, rules, technology, code, deployed, command if command_at is not DEFAULT else [], command_at
    )
    command = _listening(command, ports) if command_at is DEFAULT else command
    serves = technology is not None and (technology.tier in SERVING or technology.tier == TIERS["app"])
    health, health_at = _health(package, code, deployed)
    if not (serves or deployed.health or command):
        health = None
    return Runtime(
        packages=list(deployed.packages),
        env=dict.fromkeys([*deployed.env, *(name for name in code.env if name not in deployed.env)]),
        copy=_copies(survey, package, technology),
        command=command,
        ports=ports,
        health=HealthEndpoint(endpoint=health) if health else None,
        trail=RuntimeTrail(
            command=_trail(command_at) if command else None,
            ports=_trail(ports_at) if ports else None,
            health=_trail(health_at) if health else None,
        ),
    )


def _trail(place: Place | None) -> FactTrail:
    at = place or DEFAULT
    evidence = FactEvidence(file=at.file, line=at.line) if at.file else None
    return FactTrail(source=at.source, evidence=evidence, confidence=CONFIDENCE[at.source])


def _ports(
    package: Package, rules: TechnologyRules, technology: Technology | None, code: CodeFacts, deployed: Deployment,
    command: list[str], command_at: Place | None,
) -> tuple[list[int], Place | None]:  # fmt: skip
    """Return the ports in deployment files, else in the command, configuration and scripts, the code, else the usual
    port.
    """
    if deployed.ports:
        return deployed.ports, deployed.ports_at
    if named := ports_of(command):
        return named, command_at
    scripts = _script_ports(package)
    scripted = [*code.configured, *(port for port in scripts if port not in code.configured)]
    if scripted:
        return scripted, code.places.get(scripted[0]) or scripts.get(scripted[0])
    if code.ports:
        return code.ports, code.places.get(code.ports[0])
    usual = [technology.port] if technology and technology.port else []
    if usual or technology is None or not technology.static:
        return usual, DEFAULT
    bundlers = (
        rules.get("framework", finding.id) for finding in package.findings_of("framework") if finding.confidence >= 0.5
    )
    ports = [bundler.port for bundler in bundlers if bundler and bundler.port and bundler.tier == TIERS["bundler"]]
    return ports[:1], DEFAULT


def _script_ports(package: Package) -> dict[int, Place]:
    manifest = package.manifest_of("npm")
    scripts = table(manifest.data.get("scripts")) if manifest else {}
    ports: dict[int, Place] = {}
    started = next((name for name in START_SCRIPTS if text_of(scripts.get(name))), None)
    for name in (started,) if started else ("preview", "dev"):
        for port in _SCRIPT_PORT.finditer(text_of(scripts.get(name)) or ""):
            number = int(port[1] or port[2])
            if 0 < number < 65536 and manifest:
                ports.setdefault(number, Place("manifest", manifest.path, manifest.line_of(name, "scripts")))
        if ports:
            break
    return ports


def _health(package: Package, code: CodeFacts, deployed: Deployment) -> tuple[str | None, Place | None]:
    if deployed.health:
        return deployed.health, deployed.health_at
    if code.health:
        return code.health, code.health_at
    return _usual_health(package), DEFAULT


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
    """Return the output folder of a bundler for a user interface without a server."""
    if technology.static and any(("framework", id) in package.findings for id in ("vite", "parcel")):
        return "dist"
    return None


def _listening(command: list[str], ports: list[int]) -> list[str]:
    """Give ``flask run`` the port of the code, which holds only when that is run as a program."""
    names_port = any(word.startswith(("--port", "-p")) for word in command)
    if command[:2] != ["flask", "run"] or not ports or ports[0] == 5000 or names_port:
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
    """Return the parts of a build that the running image needs."""
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
