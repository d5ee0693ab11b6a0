"""The asynchronous client, and the source of the synchronous one (``python -m scripts.generate_sync``)."""
