"""Which language a file is written in, and whether it counts, in the terms of GitHub's linguist."""
