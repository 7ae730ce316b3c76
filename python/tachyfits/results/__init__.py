"""Results with a unit and coordinates."""
