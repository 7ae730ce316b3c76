"""Sidecars: copies of cubes in other layouts, for requests that would read much of the file.

A pyramid has the tiles of high zoom levels; a spectral copy stores each line of sight contiguously.
Both are Zarr v3 arrays in the cache folder. Their values equal those of the file bit for bit, and
their names include the version of the file, so answers are the same with and without them.
"""
