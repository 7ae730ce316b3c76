"""Changes of existing files."""
