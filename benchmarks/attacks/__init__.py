"""What a hostile tenant does; each attack goes on until it is stopped."""
