"""Flow documents and the tools that edit them; the gateway and the flows worker share this room."""
