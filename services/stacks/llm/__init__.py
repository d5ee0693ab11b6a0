"""The detectors that ask a model: only about what no rule explains, and only what a file proves is accepted."""
