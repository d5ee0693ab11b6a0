"""The tools that edit a draft: each validates all of its parameters, then changes the draft or fails with a message."""
