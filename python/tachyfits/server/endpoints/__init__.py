"""Endpoints: one module each, which reads parameters, calls the engine and encodes the answer."""
