"""The demonstration: real processes and real data; only the models' words are scripted."""
