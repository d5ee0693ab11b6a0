"""The detectors that call a model: only about what no rule explains, and only answers that a file proves are
accepted.
"""
