"""Tables of results in the forms that other programs read, written by processes of their own."""
