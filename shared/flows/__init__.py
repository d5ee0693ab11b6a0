"""The domain of diagrams, used by the gateway (edits without a model) and the flows worker (edits by a model).

Documents: `document`, `visuals` (visual settings), `operations` on them and their exact inverses, `lint`, `layout`,
`forms` (Mermaid, DOT, SVG). Edits: `tools` change a `draft`; a `batch` runs calls on it. History: `store` writes
versions, `history` change sets that can be undone; `editing`, `proposals` and `session` are what callers use.
"""
