"""The formats of requests and answers that vendors share, and HTTP below them."""
