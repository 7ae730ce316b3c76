"""The demo: a galaxy made from physics, measured, and compared with what was put in.

Run it with ``python -m examples.galaxy [FILE]``; a FILE of yours is measured without the truth.
"""
