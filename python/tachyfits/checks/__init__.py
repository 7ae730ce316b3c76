"""Checks and comparisons of files."""
