"""What the command does, by noun. Modules here import nothing heavy until a command runs."""
