"""Citations: works out of BibTeX and CSL-JSON, how text cites them, and their list."""
