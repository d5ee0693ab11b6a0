"""Asks models, and checks and repairs what they answer."""
