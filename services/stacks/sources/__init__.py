"""Where trees come from: a local folder, an archive that is never extracted, a git repository without a work tree."""
