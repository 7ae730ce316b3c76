"""Images: reading, reducing and computing pixels."""
