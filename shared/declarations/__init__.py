"""What callers declare in small languages: assertions about a table, parameters of a document."""
