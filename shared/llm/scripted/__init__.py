"""A server that answers like the providers do, from a script: for the demo, the tests and the benchmarks."""
