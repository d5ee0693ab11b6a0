"""The phases after the detectors: workspace, facts, versions, roles, and the assembled answer."""
