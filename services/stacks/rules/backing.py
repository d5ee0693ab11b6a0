"""The rules for backing services: drivers, images, variables and schemes of URLs that say what a program uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import yaml

from services.stacks.manifests.model import table, text_of, texts

#: Words in names of variables that speak of a connection to a service.
_CONNECTS = re.compile(
    r"_(?:UR[IL]S?|HOST(?:S|NAME)?|PORT|DSN|KEYS?|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|USER(?:NAME|ID)?|DB|DATABASE|DBNAME|NAME"
    r"|ENDPOINTS?|BROKERS?|SERVERS?|ADDR(?:ESS(?:ES)?|S)?|ACCOUNT|BUCKET|REGION|QUEUE|TOPIC|INDEX|CLUSTER|NODES?|AUTH|DOMAIN|CLIENT"
    r"|ID|SID|CONNECTION|BOOTSTRAP|SERVICE|NAMESPACE|TABLE|COLLECTION|PROJECT|REALM|TENANT|WEBHOOK|DATASET|SPACE|CREDENTIALS?|CERT|CA|TLS|SSL|AGENT"
    r"|ENV|SITE|ISSUER|AUDIENCE|ROLE|WAREHOUSE|SCHEMA|PATH|ORG|CLOUD|STORE|VHOST|GROUP|PREFIX|API|APP|MASTER|PRIVATE|PUBLI[A-Z]+)"
    r"(?:_|$)"
)


@dataclass(frozen=True)
class BackingRule:
    id: str
    name: str
    category: str

    @property
    def rule(self) -> str:
        return f"use.{self.id}"


@dataclass(frozen=True)
class BackingRules:
    """Every rule by what proves it; names that end in a star are kept apart."""

    drivers: dict[tuple[str, str], BackingRule] = field(default_factory=dict)  #: by ecosystem and package
    families: dict[str, dict[str, BackingRule]] = field(default_factory=dict)  #: by ecosystem: groups and scopes
    beginnings: dict[str, list[tuple[str, BackingRule]]] = field(default_factory=dict)  #: of other names
    images: dict[str, BackingRule] = field(default_factory=dict)
    variables: dict[str, BackingRule] = field(default_factory=dict)
    prefixes: dict[str, BackingRule] = field(default_factory=dict)  #: of variables, with their underscore
    schemes: dict[str, BackingRule] = field(default_factory=dict)
    modules: dict[tuple[str, str], BackingRule] = field(default_factory=dict)  #: of standard libraries, by ecosystem
    names: dict[str, frozenset[str]] = field(default_factory=dict)  #: of the products themselves

    def driver(self, ecosystem: str, name: str) -> BackingRule | None:
        known = self.drivers.get((ecosystem, name))
        if known is None and ecosystem in self.families:
            # by the part before the star: a group of Maven, a scope of npm, or the beginning of a name
            for at in (name.find(":") + 1, name.find("/") + 1):
                if at and (known := self.families[ecosystem].get(name[:at])):
                    return known
            beginnings = self.beginnings.get(ecosystem, ())
            return next((rule for beginning, rule in beginnings if name.startswith(beginning)), None)
        return known

    def variable(self, name: str) -> BackingRule | None:
        """Return the rule of a variable: by its name, else by the longest beginning that a rule has.

        A beginning counts only where the rest speaks of a connection: ``MEILI_URL`` does, ``RESEND_AFTER`` does not.
        """
        known = self.variables.get(name)
        at = name.rfind("_")
        while known is None and at > 0:
            if _CONNECTS.search(name, at):
                known = self.prefixes.get(name[: at + 1])
            at = name.rfind("_", 0, at)
        return known

    def own_names(self, rule: BackingRule) -> frozenset[str]:
        """Return the names that the product itself carries as a package."""
        if rule.id not in self.names:
            mine = {rule.id, re.sub(r"[^a-z0-9]", "", rule.name.lower()), rule.name.lower().removeprefix("apache ")}
            mine |= {prefix.lower().strip("_") for prefix, other in self.prefixes.items() if other is rule}
            self.names[rule.id] = frozenset(name for name in mine if len(name) > 1)
        return self.names[rule.id]

    def image(self, image: str) -> BackingRule | None:
        """Return the rule of a container image, with or without its registry and its tag."""
        return self.images.get(image_name(image))


def image_name(image: str) -> str:
    """Return the name of an image without its registry's default parts, its tag and its digest."""
    name = image.partition("@")[0]
    name = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
    return name.removeprefix("docker.io/").removeprefix("library/")


@cache
def load_backing_rules() -> BackingRules:
    rules = BackingRules()
    body = files(__package__).joinpath("backing_services.yaml").read_bytes()
    for id, spec in table(yaml.load(body, yaml.CSafeLoader)).items():
        _index(rules, id, table(spec))
    return rules


def _index(rules: BackingRules, id: str, spec: Mapping[str, object]) -> None:
    rule = BackingRule(id, text_of(spec.get("name")) or id, text_of(spec.get("category")) or "service")
    for ecosystem, names in table(spec.get("drivers")).items():
        for listed in texts(names):
            name = listed.lower() if ecosystem == "nuget" else listed
            if name.endswith("*"):
                whole = rules.families.setdefault(ecosystem, {})
                if name.endswith((":*", "/*")):
                    whole[name.removesuffix("*")] = rule
                else:
                    rules.beginnings.setdefault(ecosystem, []).append((name.removesuffix("*"), rule))
            else:
                rules.drivers[ecosystem, name] = rule
    for ecosystem, names in table(spec.get("modules")).items():
        rules.modules.update(dict.fromkeys(((ecosystem, name) for name in texts(names)), rule))
    rules.images.update(dict.fromkeys(texts(spec.get("images")), rule))
    rules.schemes.update(dict.fromkeys(texts(spec.get("schemes")), rule))
    for name in texts(spec.get("variables")):
        if name.endswith("*"):
            rules.prefixes[name.removesuffix("*")] = rule
        else:
            rules.variables[name] = rule
