"""Manifests: what each package manager's own file says, read once, with the lines it says it on."""
