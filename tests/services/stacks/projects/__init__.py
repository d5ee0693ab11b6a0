"""Small projects of our own making: what is in each, and what has to be said of it."""
