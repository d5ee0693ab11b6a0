"""The detectors: one interface, an ordered registry; those that ask a model come last."""
