"""Other forms of a flow: Mermaid (import and export), DOT, SVG; every exported label is escaped."""
