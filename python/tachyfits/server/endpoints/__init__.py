"""Endpoints: each module parses parameters, calls the engine and encodes the answer."""
