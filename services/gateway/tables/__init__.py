"""Result tables in the formats of other programs, written by separate processes."""
