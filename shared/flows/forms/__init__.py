"""Other forms of a flow: Mermaid in and out, DOT, SVG, JSON; every label is escaped on its way out."""
