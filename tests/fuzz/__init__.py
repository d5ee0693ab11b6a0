"""Every parser of untrusted bytes on bytes made to hurt it, under bounds of memory and time."""
