"""The detectors: one interface, an ordered registry; those that call a model come last."""
