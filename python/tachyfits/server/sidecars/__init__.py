"""Sidecars: copies of cubes in other layouts, for answers that would read much of the file.

A pyramid has the tiles of high zoom levels, a spectral copy keeps each line of sight together. Both
are Zarr v3 in the cache folder. They hold what the file gives, bit for bit, and have the version of
the file in their name: answers are the same with and without them.
"""
