"""Facts about building and running a package: commands, ports, health, names of variables, caches."""
