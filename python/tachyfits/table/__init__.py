"""Tables: reading rows and columns."""
