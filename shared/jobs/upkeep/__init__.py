"""Statements that keep the record small and right: retention, partitions, deletion, statistics."""
