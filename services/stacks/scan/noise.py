"""File names that say nothing about the technologies of a package."""

from __future__ import annotations

import re

#: Names that are neither sources nor manifests, although no language table knows them.
_NOISE = re.compile(
    r"(?i)\.(?:lock|log|env|example|sample|tmpl|tpl|template|dist|bak|orig|map|snap|pem|crt|cer|key|pub|csr|p12|png|jpe?g|gif"
    r"|ico|webp|avif|bmp|tiff?|woff2?|ttf|otf|eot|mp[34]|wav|ogg|webm|mov|pdf|docx?|xlsx?|pptx?|zip|gz|tgz|bz2|xz|zst|7z|jar"
    r"|war|class|pyc|so|dll|dylib|exe|bin|dat|db|sqlite3?|parquet|arrow|npy|pkl|onnx|pt|h5|wasm|sum|mod|work|prefs|local"
    r"|properties|plist|entitlements|sln|suo|user|iml|keep|gitkeep|pid|seed|old|patch|diff|po|mo|pot|ini|conf|cfg|config"
    r"|lockb|resolved|tfvars|hcl|nix|editorconfig|browserslistrc|npmrc|nvmrc|tool-versions|po|md5|sha256|sig|asc|license)$"
)


_PLAIN_NAMES = re.compile(
    r"(?i)^(?:license|licence|copying|notice|authors|contributors|maintainers|changelog|changes|readme|todo|version|codeowners"
    r"|dockerfile.*|containerfile|procfile|makefile|gnumakefile|rakefile|gemfile|jenkinsfile|vagrantfile|brewfile|justfile"
    r"|caddyfile|earthfile|tiltfile|pipfile|podfile|fastfile|appfile|berksfile|capfile|guardfile|go\.sum|manifest)$"
)


def is_noise(name: str) -> bool:
    """Whether a file that no language table knows is no reason to ask a model."""
    return name.startswith(".") or _NOISE.search(name) is not None


def is_plain(name: str) -> bool:
    """Whether a name stands in projects of every kind: a readme, a licence, a Dockerfile."""
    return _PLAIN_NAMES.match(name) is not None
