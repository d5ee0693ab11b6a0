"""The scan phase: a tree becomes folders with manifests, languages and markers."""
