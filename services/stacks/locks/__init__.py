"""Lock files: every package that they pin, as package URLs."""
