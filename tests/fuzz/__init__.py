"""Every parser of a stranger's bytes on bytes made to hurt it, under bounds of memory and time."""
