"""Virtual Observatory: SODA 1.0, DataLink 1.1, SIA 2.0 and VOSI 1.1 for the served files.

A resource is a module with a ``router``, listed in ``app.RESOURCES``. All are below ``/vo``,
the base of one service: ``/vo/sync``, ``/vo/async``, ``/vo/links``, ``/vo/sia``,
``/vo/capabilities``, ``/vo/availability`` and ``/vo/examples``.
"""
