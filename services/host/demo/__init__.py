"""The demonstration: real processes and real data; only the models' replies are scripted."""
