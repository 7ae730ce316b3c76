"""The server: tiles, spectra, measurements and cutouts of FITS files over HTTP, and a viewer page.

Built on FastAPI and uvicorn (the extra ``server``). An endpoint is a module of `server.endpoints`
with a ``router``, and a name in ``app.ENDPOINTS``.
"""
