"""Text and indices as users write them: axes, sections, regions, statistics and units."""
