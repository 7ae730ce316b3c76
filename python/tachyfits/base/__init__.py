"""Foundations of every layer: errors, options, whole numbers, and sources of bytes."""
