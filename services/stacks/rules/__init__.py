"""The rule set: one YAML entry per technology, loaded once."""
