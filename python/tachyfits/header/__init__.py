"""Cards of a header, and what they say of coordinates."""
